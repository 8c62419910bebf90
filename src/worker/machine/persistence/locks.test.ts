import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { FileLock, MemoryLock, NoOpLock } from './locks.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-locks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('a lock', () => {
  test('that does nothing is everybody’s', async () => {
    const lock = new NoOpLock();
    assert.deepEqual([await lock.acquire(), await lock.acquire()], [true, true]);
    await lock.release();
  });

  for (const [kind, make] of [
    ['in memory', () => new MemoryLock()],
    ['on a file', (t: TestContext) => new FileLock(folderOf(t))],
  ] as const) {
    test(`${kind} is held once, for each run by itself, until it is released`, async (t) => {
      const lock = make(t);
      assert.equal(await lock.acquire('a'), true);
      assert.equal(await lock.acquire('a'), false);
      assert.equal(await lock.acquire('b'), true);
      await lock.release('a');
      await lock.release('a');
      await lock.release('never');
      assert.equal(await lock.acquire('a'), true);
      await lock.release('a');
      await lock.release('b');
    });
  }

  test('on a file holds for others who use the folder', async (t) => {
    const folder = folderOf(t);
    const [one, other] = [new FileLock(folder), new FileLock(folder)];
    assert.equal(await one.acquire('a'), true);
    assert.equal(await other.acquire('a'), false);
    await other.release('a');
    assert.equal(await other.acquire('a'), false, 'only its holder releases it');
    await one.release('a');
    assert.equal(await other.acquire('a'), true);
    await other.release('a');
  });

  test('on a file ends with the process that holds it', async (t) => {
    const folder = folderOf(t);
    const code = `import { FileLock } from ${JSON.stringify(new URL('./locks.ts', import.meta.url).href)};
      const lock = new FileLock(process.argv[1]);
      console.log(await lock.acquire('a')); setInterval(() => lock.held, 1e6);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    assert.equal(String(said).trim(), 'true');
    const lock = new FileLock(folder);
    assert.equal(await lock.acquire('a'), false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(await lock.acquire('a'), true);
    await lock.release('a');
  });
});
