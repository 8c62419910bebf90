import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openerOf } from './open-in-browser.ts';

const URL = 'http://127.0.0.1:7420/ui/#code=x&y;$(z)';

test('each system opens a link with its own program, and no shell reads it', () => {
  assert.deepEqual(openerOf(URL, 'linux'), ['xdg-open', URL]);
  assert.deepEqual(openerOf(URL, 'darwin'), ['open', URL]);
  assert.deepEqual(openerOf(URL, 'win32'), ['rundll32', 'url.dll,FileProtocolHandler', URL]);
});
