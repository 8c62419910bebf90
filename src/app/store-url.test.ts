import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { tempFolder } from '../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../store/conformance/kit/virtual-world.ts';
import { openStore } from './store-url.ts';

const folder = tempFolder('store-url');
const options = { world: new VirtualWorld(), housekeeping: false };

test('sqlite: opens the file of that path, and memory: no file', async () => {
  const file = join(folder, 'a.db');
  const store = await openStore(`sqlite:${file}`, options);
  assert.equal(store.capabilities.name, 'sqlite');
  assert.ok(existsSync(file));
  await store.close();
  for (const url of ['memory:', 'memory:one']) {
    const memory = await openStore(url, options);
    assert.equal(memory.capabilities.name, 'memory');
    await memory.close();
  }
});

test('sqlite: with memory as its path is refused: it would be gone with the process, or be a file of that name', async () => {
  for (const url of ['sqlite:memory:', 'sqlite:memory:x', 'sqlite::memory:']) {
    await assert.rejects(openStore(url, options), (error) => {
      assert.ok(isEngineError(error, 'INVALID_INPUT'), `${url}: ${String(error)}`);
      assert.ok(error.message.includes(url));
      assert.match(error.hint ?? '', /\bmemory:/);
      return true;
    });
  }
  const file = join(folder, 'memory:x');
  await (await openStore(`sqlite:${file}`, options)).close();
  assert.ok(existsSync(file));
});

test('other URLs are refused, with the problem and the right form', async () => {
  const cases = { 'sqlite:': /names no file/, 'work.db': /no scheme/, 'mysql://x': /mysql: is not a store/ };
  for (const [url, problem] of Object.entries(cases)) {
    await assert.rejects(openStore(url, options), (error) => {
      assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
      assert.match(error.message, problem);
      assert.match(error.hint ?? '', /sqlite:PATH/);
      return true;
    });
  }
});
