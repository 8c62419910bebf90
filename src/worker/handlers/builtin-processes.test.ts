import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Stream } from '../../core/task/log.ts';
import { ProcessRunner } from '../runner/process/process-runner.ts';
import { HAS_PROCESS_TABLE, rowOf } from '../runner/process/process-table.ts';
import type { ActiveRun } from '../runner/runner.ts';
import { BUILTIN_MODULE, BUILTIN_NAMES } from './builtin.ts';
import { settingsEnvironment } from './settings.ts';
import type { ShellResult } from './shell.ts';

let runs = 0;

async function start(t: TestContext): Promise<ProcessRunner> {
  const runner = new ProcessRunner({
    modules: [BUILTIN_MODULE],
    slots: 2,
    incarnation: `builtin-${process.pid}-${++runs}`,
    env: { ...settingsEnvironment({}), PATH: '/usr/bin:/bin', SECRET: 'canary' },
  });
  t.after(() => runner.close());
  await runner.start();
  return runner;
}

interface RecordedRun {
  readonly running: ActiveRun;
  readonly lines: [Stream, string][];
  /** Resolves with the first line that has this in it. */
  readonly hears: (part: string) => Promise<string>;
}

function run(runner: ProcessRunner, handler: string, input: unknown): RecordedRun {
  const lines: [Stream, string][] = [];
  const waiting: { readonly part: string; readonly tell: (line: string) => void }[] = [];
  const hears = (part: string): Promise<string> => {
    const known = lines.find(([, text]) => text.includes(part));
    return known === undefined ? new Promise((tell) => waiting.push({ part, tell })) : Promise.resolve(known[1]);
  };
  const task = ++runs;
  const payload = JSON.stringify(input);
  const ids = { task, attempt: 1, id: `task_${task}`, queue: handler, handler };
  const running = runner.run(
    { ...ids, payload, tries: 1, maxTries: 3, alone: false },
    {
      line(stream, text) {
        lines.push([stream, text]);
        for (const { part, tell } of waiting) if (text.includes(part)) tell(text);
      },
      progress() {},
    },
  );
  return { running, lines, hears };
}

test('the handlers are on offer in child processes, and what they print comes line by line', async (t) => {
  const runner = await start(t);
  assert.deepEqual([...runner.handlers].sort(), [...BUILTIN_NAMES].sort());
  const echo = run(runner, 'echo', { a: 1 });
  assert.deepEqual(await echo.running.ended, { kind: 'done', result: { a: 1 } });
  assert.deepEqual(echo.lines, [['log', 'echo {"a":1}']]);
  const shell = run(runner, 'shell', { command: 'echo one; echo "[$SECRET]"; printf two; echo three >&2; exit 4' });
  const ended = await shell.running.ended;
  assert.equal(ended.kind, 'failed');
  const { code, message } = (ended as unknown as { error: { code: string; message: string } }).error;
  assert.deepEqual([code, message], ['EXIT', 'The command ended with exit code 4.\nthree']);
  const printed = (stream: Stream): string[] => shell.lines.filter(([from]) => from === stream).map(([, text]) => text);
  assert.deepEqual(printed('stdout'), ['one', '[]', 'two']);
  assert.deepEqual(printed('stderr'), ['three']);
});

test('a command that prints much faster than its lines are read waits, and none is lost', async (t) => {
  const runner = await start(t);
  const { running, lines } = run(runner, 'shell', { argv: ['seq', '1', '150000'] });
  const ended = await running.ended;
  assert.equal(ended.kind, 'done');
  assert.ok((ended as { result: ShellResult }).result.stdout.endsWith('\n150000\n'));
  assert.equal(lines.length, 150_000);
  assert.ok(lines.every(([stream, text], i) => stream === 'stdout' && text === `${i + 1}`));
});

test('a stop leaves no process behind, not even one that left the group', { skip: !HAS_PROCESS_TABLE }, async (t) => {
  const runner = await start(t);
  const command = `setsid sh -c 'echo apart $$; exec sleep 1000' & sh -c 'trap "" TERM; echo deaf $$; sleep 1000' & wait`;
  const { running, hears } = run(runner, 'shell', { command });
  const pids = (await Promise.all([hears('apart'), hears('deaf')])).map((line) => Number(line.split(' ')[1]));
  assert.ok(pids.every((pid) => rowOf(pid) !== undefined));
  running.stop('cancelled', { abortMs: 5_000, termMs: 1_000 });
  assert.equal((await running.ended).kind, 'failed');
  assert.deepEqual(
    pids.filter((pid) => rowOf(pid) !== undefined),
    [],
  );
});
