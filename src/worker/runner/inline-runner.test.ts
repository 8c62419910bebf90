import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../testing.ts';
import type { AnyTask, TaskContext } from '../define/definition.ts';
import { task } from '../define/task.ts';
import { InlineRunner, type StopError } from './inline-runner.ts';
import type { ActiveRun, Ladder, RunOutcome, RunRequest } from './runner.ts';

const LADDER: Ladder = { abortMs: 1000, termMs: 500 };

function jobOf(handler: string): RunRequest {
  return { task: 1, attempt: 1, id: 'x', queue: 'q', handler, payload: 'null', tries: 1, maxTries: 3, alone: false };
}

function rig(tasks: readonly AnyTask[]) {
  const world = new VirtualWorld();
  const runner = new InlineRunner(tasks, world.timers);
  const lines: string[] = [];
  const sink = {
    line: (stream: string, text: unknown) => void lines.push(`${stream} ${String(text)}`),
    progress: () => {},
  };
  return { world, runner, lines, run: (handler: string): ActiveRun => runner.run(jobOf(handler), sink) };
}

/** A handler that ends when the test says so, and its context. */
function held() {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const seen: TaskContext[] = [];
  const one = task('held', {
    run: (_input, ctx) => {
      seen.push(ctx);
      return promise;
    },
  });
  return { one, resolve, reject, ctx: () => seen[0] as TaskContext };
}

async function now(world: VirtualWorld, { ended }: ActiveRun): Promise<RunOutcome | 'runs'> {
  await world.settle();
  return Promise.race([ended, Promise.resolve('runs' as const)]);
}

test('it runs what it knows, and says what it does not', async () => {
  const { runner, run } = rig([
    task('a', { run: () => 'A' }),
    task('b', { run: () => Promise.reject(new Error('B')) }),
  ]);
  await runner.start();
  assert.deepEqual([runner.handlers, runner.isolates], [['a', 'b'], false]);
  assert.deepEqual(await run('a').ended, { kind: 'done', result: 'A' });
  assert.equal((await run('b').ended).kind, 'failed');
  assert.equal((await run('c').ended).kind, 'unstarted');
  await runner.close();
});

test('a handler that heeds its signal ends by itself, and knows why', async () => {
  for (const why of ['cancelled', 'timeout', 'lost', 'shutdown'] as const) {
    const heeding = task('heeding', {
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const { world, run, lines } = rig([heeding]);
    const running = run('heeding');
    running.stop(why, LADDER);
    const ended = await running.ended;
    assert.ok(ended.kind === 'failed');
    const error = ended.error as StopError;
    assert.deepEqual([error.name, error.why], ['AbortError', why]);
    assert.deepEqual([lines, world.waits], [[`system stop (${why}): abort signal`], []]);
  }
});

test('a handler that looks at its signal after the stop sees it aborted', async () => {
  const { one, ctx, resolve } = held();
  const { run } = rig([one]);
  const running = run('held');
  running.stop('cancelled', LADDER);
  assert.equal(ctx().signal.aborted, true);
  assert.equal((ctx().signal.reason as StopError).why, 'cancelled');
  resolve('anyway');
  assert.deepEqual(await running.ended, { kind: 'done', result: 'anyway' });
});

test('what ignores its signal is left alone after the ladder, and what it returns then is nobody’s', async () => {
  const { one, resolve } = held();
  const { world, run, lines } = rig([one]);
  const running = run('held');
  running.stop('timeout', LADDER);
  await world.advance(1400);
  assert.equal(await now(world, running), 'runs');
  await world.advance(200);
  assert.equal((await running.ended).kind, 'failed');
  assert.match(lines.at(-1) ?? '', /ignores its signal and runs on/);
  resolve('late');
  await world.settle();
  assert.equal((await running.ended).kind, 'failed');
});

test('a second stop may make the ladder steeper, never longer', async () => {
  const { one, ctx } = held();
  const { world, run, lines } = rig([one, task('other', { run: () => new Promise(() => {}) })]);
  const running = run('held');
  running.stop('cancelled', LADDER);
  await world.advance(1400);
  running.stop('timeout', LADDER);
  await world.advance(200);
  assert.equal((await running.ended).kind, 'failed');
  assert.equal((ctx().signal.reason as StopError).why, 'cancelled', 'the first reason stays');
  assert.deepEqual(world.waits, []);

  const other = run('other');
  other.stop('shutdown', { abortMs: 60_000, termMs: 60_000 });
  other.stop('lost', { abortMs: 10, termMs: 10 });
  await world.advance(30);
  assert.equal((await other.ended).kind, 'failed');
  assert.deepEqual(world.waits, []);
  assert.equal(lines.filter((line) => /abort signal/.test(line)).length, 2, 'once for each run');
});

test('a stop after the end says nothing and sets no timer', async () => {
  const { world, run, lines } = rig([task('quick', { run: () => 1 })]);
  const running = run('quick');
  await running.ended;
  running.stop('cancelled', LADDER);
  assert.deepEqual([lines, world.waits], [[], []]);
});

test('whatever a handler logs, logging does not fail it', async () => {
  const odd = task('odd', {
    run: (_input, ctx) => {
      ctx.log(Object.create(null) as string);
      ctx.log(Symbol('s') as unknown as string);
      return 'fine';
    },
  });
  const world = new VirtualWorld();
  const runner = new InlineRunner([odd], world.timers);
  const sink = { line: () => {}, progress: () => {} };
  assert.deepEqual(await runner.run(jobOf('odd'), sink).ended, { kind: 'done', result: 'fine' });
});
