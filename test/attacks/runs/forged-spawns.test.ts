/** The same attack on a handler that spawns children and waits for them: another task is put in the place of a child. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isFinal } from '../../../src/core/task/task.ts';
import { task } from '../../../src/worker/define/task.ts';
import { RawHttpWorker } from '../raw-http-worker.ts';
import { target, until } from '../scene.ts';

const SECRET = 'nobody but accounting reads this';

const payroll = task('payroll', { run: () => SECRET });
const sum = task('sum', { run: () => 5 });
const report = task('report', {
  maxAttempts: 3,
  retry: { baseMs: 0 },
  run: async (_input: unknown, ctx) => {
    const child = await ctx.spawn({ queue: 'sum', handler: 'sum' });
    const { value } = await ctx.wait('sum', { children: [child] });
    return value.map(({ state, result }) => [state, result]);
  },
});

interface Aim {
  readonly task: number;
  readonly id: string;
}

/** What the forger writes while it holds the report, and what then becomes of that with an honest worker. */
async function reported(
  t: TestContext,
  forge: (aim: Aim) => readonly object[],
): Promise<{ readonly state: string | undefined; readonly result: string }> {
  const { node, log } = await target(t);
  const { app } = node.service;
  const serve = async (...tasks: readonly unknown[]): Promise<() => Promise<unknown>> => {
    const worker = app.worker({ tasks: tasks as never });
    await worker.start();
    const stop = (): Promise<unknown> => worker.stop({ drain: false });
    t.after(stop);
    return stop;
  };
  const stop = await serve(payroll);
  const stateOf = async (one: number) => (await node.engine.get(one))?.state;
  const paid = await node.engine.push({ queue: 'payroll', handler: 'payroll' });
  await until(async () => (await stateOf(paid.task)) === 'completed');
  await stop();
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'forger' } });
  const forger = await RawHttpWorker.join(node, { name: 'forger', secret, handlers: ['report', 'sum'] });
  const { task: number } = await node.engine.push({ queue: 'report', handler: 'report', maxAttempts: 3 });
  const [held] = await forger.claim();
  const lease = { task: held.task, attempt: held.attempt, token: held.token };
  await forger.told('task_turn', { lease, entries: forge(paid), then: { go: 'on' } });
  await forger.told('task_release', { lease });
  await forger.hangUp();
  await serve(report, sum);
  await until(async () => isFinal((await stateOf(number)) ?? 'ready'));
  const record = await node.engine.get(number);
  const seen = JSON.stringify([record, await node.engine.journal(number)]);
  assert.ok(!seen.includes(SECRET), seen);
  assert.deepEqual(
    log.filter(({ level }) => level === 'error'),
    [],
  );
  return { state: record?.state, result: record?.result ?? '' };
}

for (const kind of ['value', 'element', 'mark', 'wait']) {
  test(`an honest worker takes no task of others for a child that its handler spawns: a ${kind} under its key`, async (t) => {
    const { state, result } = await reported(t, ({ id, task }) => [
      { key: 'spawn:sum#0', kind, value: JSON.stringify({ id, task }) },
    ]);
    assert.equal(state, 'failed');
    assert.match(result, /taken by an entry that is not a child/);
  });
}

test('the outcome of a wait that names a task of others reads nothing of it', async (t) => {
  const { state, result } = await reported(t, ({ id }) => {
    const outcome = { outcome: 'woken', value: [{ id, state: 'completed' }], apart: true };
    return [{ key: 'wait:sum#0', kind: 'wait', value: JSON.stringify(outcome) }];
  });
  // Its worker may say that the wait is over: it could have said that of the whole task.
  assert.equal(state, 'completed');
  assert.match(result, /ready|running|completed",5/);
});
