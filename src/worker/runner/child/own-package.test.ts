import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ProcessRunner } from '../process/process-runner.ts';

test('a file of tasks finds the package by its name, wherever it lies, and its timeouts are known', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-own-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'package.json'), '{}');
  const file = join(folder, 'tasks.mjs');
  writeFileSync(
    file,
    `import { task } from 'leasehold';
     export const quick = task('quick', { timeout: '5s', run: () => 1 });
     export const free = task('free', { run: () => 2 });`,
  );
  const runner = new ProcessRunner({
    modules: [pathToFileURL(file).href],
    slots: 1,
    incarnation: `own-${process.pid}`,
    env: { PATH: '/usr/bin:/bin' },
  });
  t.after(() => runner.close());
  await runner.start();
  assert.deepEqual([...runner.handlers].sort(), ['free', 'quick']);
  assert.deepEqual([runner.timeoutMs('quick'), runner.timeoutMs('free')], [5000, undefined]);
});
