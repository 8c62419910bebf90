import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { makeIdCodec } from '../ids.ts';
import { approvalChannel, checkChannel, isReserved, ownerOf } from './channel.ts';

test('a channel is any key that the engine does not keep for itself', () => {
  for (const channel of ['go', 'mail-17', 'approvals', 'Approval:x', 'my approval:x', 'leasehold']) {
    assert.equal(checkChannel(channel), channel);
    assert.equal(isReserved(channel), false);
  }
  assert.throws(
    () => checkChannel(''),
    (error) => isEngineError(error, 'INVALID_INPUT'),
  );
});

test('a reserved channel is refused, with what to do instead', () => {
  const refused = (channel: string, hint: RegExp): void =>
    assert.throws(
      () => checkChannel(channel),
      (error) => isEngineError(error, 'INVALID_INPUT') && hint.test(String(error.hint)),
    );
  refused(approvalChannel(7, 'ok#0'), /Decide it/);
  refused('approval:', /Decide it/);
  refused('leasehold:anything', /another name/);
});

test('a channel tells the task that it belongs to', () => {
  const id = makeIdCodec('0123456789abcdef0123456789abcdef').encode('task_', 2 ** 47 + 4711, 1_700_000_000_000);
  assert.equal(ownerOf(`${id}:word`), 2 ** 47 + 4711);
  assert.equal(ownerOf(`${id}:`), 2 ** 47 + 4711);
  assert.equal(ownerOf(approvalChannel(7, 'ok#0')), 7);
  for (const channel of [
    id,
    'approval:',
    'approval:x:y',
    'mail',
    `${id.toUpperCase()}:word`,
    `${id.replace('-7', '-6')}:word`,
  ])
    assert.equal(ownerOf(channel), undefined, channel);
});
