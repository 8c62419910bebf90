import assert from 'node:assert/strict';
import { test } from 'node:test';
import { saysNoRoom } from './no-room.ts';

test('a bucket that is full is known by its status, or by the words of its make', () => {
  assert.equal(saysNoRoom(507, ''), true);
  assert.equal(saysNoRoom(403, '<Error><Code>QuotaExceeded</Code></Error>'), true);
  assert.equal(saysNoRoom(400, '<Error><Code>XMinioAdminBucketQuotaExceeded</Code></Error>'), true);
  assert.equal(saysNoRoom(503, '<Error><Code>ServiceUnavailable</Code></Error>'), false);
  assert.equal(saysNoRoom(200, '<Code>QuotaExceeded</Code>'), false);
});
