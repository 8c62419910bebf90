import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { tempFolder } from '../../../store/conformance/kit/temp-folder.ts';
import { eventually, isAlive } from './process-trial.test.ts';

const url = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

/** It starts a program with a child, both deaf to SIGTERM, tells their numbers, and ends one that has ended by itself before. */
const WORKER = `
import { Writable } from 'node:stream';
import { runCommand } from ${url('../../handlers/command.ts')};
import { Tail } from ${url('../../handlers/tail.ts')};
import { guardPrograms } from ${url('./program-guard.ts')};
for (let twice = 0; twice < 2; twice++) guardPrograms({ path: process.env.PATH, warn: console.error });
const run = (script) => {
  const to = new Writable({ write: (chunk, _, done) => (process.stdout.write(chunk), done()) });
  const sink = { to, tail: new Tail(100) };
  const command = { file: 'sh', args: ['-c', script], cwd: '.', env: process.env, stdin: undefined };
  return runCommand(command, { stdout: sink, stderr: sink, signal: new AbortController().signal, killMs: 100 });
};
if (process.argv[1] === undefined) await run('true');
if (process.argv[1] === 'idle') console.log('over');
else if (process.argv[1] !== undefined) await run('(trap "" TERM; sleep 1000) & echo $$ $! > ' + process.argv[1] + '/up.new; mv ' + process.argv[1] + '/up.new ' + process.argv[1] + '/up; wait');
else await run('trap "" TERM; sleep 1000 & echo $$ $!; wait');
`;

/** Without a pause: the moment after the start is what counts. */
async function waitFor(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((go) => setImmediate(go));
}

const started = (...args: readonly string[]) =>
  spawn(process.execPath, ['--input-type=module', '--eval', WORKER, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });

test('a program that a handler has started is gone, with all that it has started, when its worker is killed', async () => {
  const worker = started();
  const [line] = (await once(createInterface({ input: worker.stdout }), 'line')) as [string];
  const pids = line.split(' ').map(Number);
  assert.ok(pids.length === 2 && pids.every(isAlive), line);
  worker.kill('SIGKILL');
  await eventually(() => !pids.some(isAlive), 'both are gone');
});

test('a program is gone also when its worker was killed while it was starting it', async () => {
  // Its first program, for which the guard is made: the worker is killed before it has known of it for a moment.
  for (let round = 0; round < 5; round++) {
    const folder = tempFolder('program-guard');
    const worker = started(folder);
    const up = join(folder, 'up');
    await waitFor(() => existsSync(up));
    worker.kill('SIGKILL');
    const pids = readFileSync(up, 'utf8').trim().split(' ').map(Number);
    await eventually(() => !pids.some(isAlive), `both are gone in round ${round}`);
  }
});

test('the guard holds up no process that has ended its programs', async () => {
  const [code] = (await once(started('idle'), 'exit')) as [number];
  assert.equal(code, 0);
});
