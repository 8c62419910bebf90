import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LazyRunner } from './lazy-runner.ts';
import type { Runner, RunOutcome, RunRequest } from './runner.ts';

const JOB: RunRequest = {
  task: 1,
  attempt: 1,
  id: 'x',
  queue: 'q',
  handler: 'h',
  payload: 'null',
  tries: 1,
  maxTries: 3,
  alone: true,
};
const SINK = { line: () => {}, progress: () => {} };
const LADDER = { abortMs: 1, termMs: 1 };

/** Runners that start when the test says so. */
function rig() {
  const made: {
    readonly started: PromiseWithResolvers<void>;
    readonly ended: PromiseWithResolvers<RunOutcome>;
    readonly calls: string[];
  }[] = [];
  const make = (): Runner => {
    const one = {
      started: Promise.withResolvers<void>(),
      ended: Promise.withResolvers<RunOutcome>(),
      calls: [] as string[],
    };
    made.push(one);
    return {
      isolates: true,
      handlers: ['h'],
      start: () => {
        one.calls.push('start');
        return one.started.promise;
      },
      run: ({ alone }) => {
        one.calls.push(alone ? 'run alone' : 'run');
        return { ended: one.ended.promise, stop: (why) => void one.calls.push(`stop ${why}`) };
      },
      close: async () => void one.calls.push('close'),
    };
  };
  return { made, runner: new LazyRunner({ handlers: ['h'], isolates: true, make }) };
}

test('nothing is made before the first job, and one runner serves all', async () => {
  const { made, runner } = rig();
  await runner.start();
  assert.deepEqual([made.length, runner.handlers, runner.isolates], [0, ['h'], true]);
  const [one, two] = [runner.run(JOB, SINK), runner.run({ ...JOB, alone: false }, SINK)];
  made[0]?.started.resolve();
  made[0]?.ended.resolve({ kind: 'done', result: 1 });
  assert.deepEqual(await Promise.all([one.ended, two.ended]), [
    { kind: 'done', result: 1 },
    { kind: 'done', result: 1 },
  ]);
  await runner.close();
  assert.deepEqual(
    made.map(({ calls }) => calls),
    [['start', 'run alone', 'run', 'close']],
  );
});

test('one that was never needed is closed without being made', async () => {
  const { made, runner } = rig();
  await runner.close();
  assert.equal(made.length, 0);
});

test('what could never work is refused at the start', async () => {
  const check = (): void => {
    throw new Error('no module');
  };
  const runner = new LazyRunner({ handlers: ['h'], isolates: true, make: () => assert.fail('made'), check });
  await assert.rejects(runner.start(), /no module/);
});

test('a start that fails bounces the job, and the next job tries anew', async () => {
  const { made, runner } = rig();
  const first = runner.run(JOB, SINK);
  made[0]?.started.reject(new Error('no memory'));
  const ended = await first.ended;
  assert.ok(ended.kind === 'unstarted' && (ended.error as Error).message === 'no memory');
  const second = runner.run(JOB, SINK);
  assert.equal(made.length, 2);
  made[1]?.started.resolve();
  made[1]?.ended.resolve({ kind: 'done', result: 2 });
  assert.deepEqual(await second.ended, { kind: 'done', result: 2 });
  await runner.close();
  assert.ok(made.every(({ calls }) => calls.includes('close')));
});

test('a maker that throws bounces the job', async () => {
  const make = (): Runner => {
    throw new Error('bad options');
  };
  const runner = new LazyRunner({ handlers: ['h'], isolates: true, make });
  assert.equal((await runner.run(JOB, SINK).ended).kind, 'unstarted');
  await runner.close();
});

test('a job that is stopped while the runner starts is not started, and does not wait for it', async () => {
  const { made, runner } = rig();
  const running = runner.run(JOB, SINK);
  running.stop('lost', LADDER);
  assert.equal((await running.ended).kind, 'unstarted');
  made[0]?.started.resolve();
  await runner.close();
  assert.deepEqual(made[0]?.calls, ['start', 'close']);
});

test('a job that runs is stopped where it runs', async () => {
  const { made, runner } = rig();
  const running = runner.run(JOB, SINK);
  made[0]?.started.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  running.stop('cancelled', LADDER);
  made[0]?.ended.resolve({ kind: 'failed', error: 'stopped' });
  assert.equal((await running.ended).kind, 'failed');
  assert.deepEqual(made[0]?.calls, ['start', 'run alone', 'stop cancelled']);
});
