import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reusable } from '../../protocol/link.ts';
import { ReuseLookupRun } from './reuse-lookup-run.ts';
import type { ActiveRun, RunOutcome, StopReason } from './runner.ts';

const LADDER = { abortMs: 1, termMs: 1 };

function rig() {
  const found = Promise.withResolvers<Reusable | undefined>();
  const end = Promise.withResolvers<RunOutcome>();
  const notes: string[] = [];
  const start = (): ActiveRun => {
    notes.push('started');
    return { ended: end.promise, stop: (why: StopReason) => void notes.push(`stop ${why}`) };
  };
  const sink = { line: (stream: string, text: string) => void notes.push(`${stream}: ${text}`), progress: () => {} };
  return { found, end, notes, run: new ReuseLookupRun({ find: () => found.promise, start, sink }), start, sink };
}

test('with a kept result nothing is run, and the log tells whose it is', async () => {
  for (const [result, value] of [
    ['{"n":1}', { n: 1 }],
    ['null', null],
    [undefined, undefined],
  ]) {
    const { run, found, notes } = rig();
    found.resolve({ id: 'task_x', result: result as string | undefined });
    assert.deepEqual(await run.ended, { kind: 'done', result: value });
    assert.deepEqual(notes, ['system: reused the result of task_x']);
  }
});

test('without one the handler runs, and ends and stops as any other', async () => {
  const { run, found, end, notes } = rig();
  found.resolve(undefined);
  await found.promise;
  run.stop('cancelled', LADDER);
  end.resolve({ kind: 'failed', error: 'no' });
  assert.deepEqual(await run.ended, { kind: 'failed', error: 'no' });
  assert.deepEqual(notes, ['started', 'stop cancelled']);
});

test('one that is stopped while it looks ends at once, and starts nothing afterwards', async () => {
  for (const result of [undefined, { id: 'task_x', result: '1' }]) {
    const { run, found, notes } = rig();
    run.stop('shutdown', LADDER);
    assert.deepEqual(await run.ended, { kind: 'unstarted', error: undefined });
    found.resolve(result);
    await found.promise;
    await Promise.resolve();
    assert.deepEqual(notes, []);
  }
});

test('a look that fails, and a runner that cannot start, leave it unstarted', async () => {
  const { run, found, notes } = rig();
  const error = new Error('no store');
  found.reject(error);
  assert.deepEqual(await run.ended, { kind: 'unstarted', error });
  assert.deepEqual(notes, []);
  const { sink } = rig();
  const broken = new ReuseLookupRun({
    find: () => Promise.resolve(undefined),
    start: () => {
      throw error;
    },
    sink,
  });
  assert.deepEqual(await broken.ended, { kind: 'unstarted', error });
});
