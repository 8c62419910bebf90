import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT, temporaryFolder } from '../support/leasehold.ts';

/** What `.npmrc` and the like say elsewhere does not matter here: nothing is fetched. */
const npm = (args: readonly string[], cwd: string): string =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

const ECHOED = '{"status":"done","tries":1,"result":{"echo":1}}\n';

test('the packed package pushes a task, runs it in a child process, and works as a library', async (t) => {
  const folder = temporaryFolder(t);
  npm(['run', 'build'], ROOT);
  npm(['pack', '--ignore-scripts', '--pack-destination', folder], ROOT);
  const [tarball] = readdirSync(folder);
  assert.match(tarball ?? '', /^leasehold-.*\.tgz$/);

  // As npm would lay it out, without asking a registry for what is here already.
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'leasehold'), { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, tarball ?? ''), '-C', join(modules, 'leasehold'), '--strip-components=1']);

  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const leasehold = (...args: string[]): string =>
    execFileSync(process.execPath, [join(modules, 'leasehold/bin/leasehold.js'), ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
  const id = leasehold('push', 'shell', '{"command":"echo packed"}').trim();
  assert.match(id, /^task_/);
  assert.match(leasehold('worker', '--once'), new RegExp(`${id} +shell +completed`));
  assert.match(leasehold('tasks', 'logs', id), /packed/);
  assert.equal(leasehold('run', 'job_with_retries', '--input', '{"job": 1}', '--json'), ECHOED);

  writeFileSync(
    join(folder, 'own.mjs'),
    `import { open, task } from 'leasehold';
     import { createWorkBackend, launchMachine, Machine } from 'leasehold/compat';
     const block = task('block', { run: () => { const end = performance.now() + 700; while (performance.now() < end); return 'kept'; } });
     const app = await open('sqlite:own.db', { leaseMs: 300 });
     const worker = app.worker({ tasks: [block] });
     await worker.start();
     console.log(await (await app.push(block, {})).result());
     await app.close();
     const backend = await createWorkBackend({ type: 'memory' });
     console.log(await backend.pool('p').push({ a: 1 }));
     await backend.close();
     console.log(await new Machine({ file: 'echo_processor' }).execute({ job: 2 }), await launchMachine('echo_processor', {}, { executionId: 'x' }));`,
  );
  const said = execFileSync(process.execPath, ['own.mjs'], { cwd: folder, encoding: 'utf8' });
  assert.equal(said, 'kept\n1\n{ echo: 2 } x\n');
});
