import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIBRARY, ROOT, temporaryFolder } from '../support/leasehold.ts';

for (const [what, body] of [
  ['has pushed enough to be busy', `for (let i = 0; i < 120; i++) await app.push(noop, {});`],
  [
    'has run a worker and stopped it',
    `const worker = app.worker({ tasks: [noop] });
     await worker.start();
     await (await app.push(noop, {})).result();
     await worker.stop();`,
  ],
] as const) {
  test(`a script that ${what} ends by itself, though it forgot to close`, async (t) => {
    const file = join(temporaryFolder(t), 'work.db');
    const script = `
      const { open, task } = await import(${JSON.stringify(LIBRARY)});
      const app = await open(${JSON.stringify(`sqlite:${file}`)});
      const noop = task('noop', { run: () => 1 });
      ${body}
      console.log('the script is over');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: ROOT });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += String(chunk);
    });
    t.after(() => child.kill('SIGKILL'));
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.deepEqual([code, said], [0, 'the script is over\n']);
  });
}
