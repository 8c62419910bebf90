import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { refusal } from '../store/conformance/kit/scene.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { operate } from './operate.ts';

const folder = tempFolder('operate');

test('a store that does not exist is made only on request', async () => {
  const file = join(folder, 'none', 'x.db');
  assert.equal(await refusal(operate({ store: `sqlite:${file}` })), 'NOT_FOUND');
  assert.equal(existsSync(file), false);
  const operator = await operate({ store: `sqlite:${file}`, create: true });
  assert.ok(existsSync(file));
  await operator.close();
});

test('a store in memory and an unknown kind of store are refused', async () => {
  assert.equal(await refusal(operate({ store: 'memory:', create: true })), 'INVALID_INPUT');
  assert.equal(await refusal(operate({ store: 'mysql://x' })), 'INVALID_INPUT');
});
