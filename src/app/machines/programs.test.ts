import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { groupLives } from '../../worker/handlers/process-group.ts';

const url = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

/** It starts a program that does not care about SIGTERM, tells its number, and ends at once when it is told to stop. */
const RUN = `
import { runAgentCommand } from ${url('../../worker/agents/command-agent.ts')};
import { realWorld } from ${url('../world.ts')};
import { endProgramsWithProcess } from ${url('./programs.ts')};
endProgramsWithProcess();
process.once('SIGINT', () => process.exit(130));
const run = {
  argv: ['sh', '-c', 'trap "" TERM; echo "{\\\\"group\\\\": $$}"; while :; do sleep 60; done'],
  cwd: '.', env: process.env, stdin: undefined, timeoutMs: 0,
};
const { signal } = new AbortController();
await runAgentCommand(run, { timers: realWorld().timers, signal, onEvent: ({ group }) => console.log(group) });
`;

test('no program of an agent outlives a run that does not wait for it', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', RUN], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const group = Number(line);
  assert.ok(await groupLives(group));
  child.kill('SIGINT');
  const [code] = (await once(child, 'exit')) as [number];
  assert.equal(code, 130);
  // What is killed is gone when the kernel has got to it.
  while (await groupLives(group)) await new Promise(setImmediate);
});
