import assert from 'node:assert/strict';
import { test } from 'node:test';
import { place, workAt } from './cli-calls.ts';

test('a task is cancelled and run again with all that hangs on it, after a look at what that would be', async (t) => {
  const { call, url } = place(t);
  await call(['push', 'other']);
  const { engine, worker } = await workAt(t, url);
  const graph = await engine.pushGraph([
    { queue: 'q', handler: 'one', name: 'one' },
    { queue: 'q', handler: 'two', name: 'two', after: ['one'] },
    { queue: 'q', handler: 'three', name: 'three', after: ['two'], afterFailure: 'run' },
  ]);
  const [one = '', two = '', three = ''] = graph.map(({ id }) => id);
  const [grant] = await engine.claim({ worker, max: 1, queues: ['q'] });
  assert.ok(grant);
  const dry = await call(['tasks', 'cancel', one, '--tree', '--dry-run']);
  assert.equal(dry.code, 0, dry.stderr);
  const rows = (answer: typeof dry): readonly string[] =>
    answer.lines.map((line) => line.split('\t').slice(0, 3).join(' '));
  assert.deepEqual(rows(dry), [`${three} cancelled waiting`, `${two} cancelled waiting`, `${one} requested running`]);
  assert.equal(dry.stderr, '3 tasks: 2 would be cancelled, 1 would be asked to stop. Nothing was changed.\n');
  assert.equal((await engine.stats('q')).cancelled, 0);
  const done = await call(['tasks', 'cancel', one, '--tree', '--json']);
  assert.deepEqual(
    done.objects().map(({ id, act }) => [id, act]),
    [
      [three, 'cancelled'],
      [two, 'cancelled'],
      [one, 'requested'],
      [undefined, undefined],
    ],
  );
  assert.deepEqual(done.objects().at(-1), {
    root: one,
    counts: { cancelled: 2, requested: 1, finished: 0 },
    dryRun: false,
  });
  await engine.cancelled(grant);

  const again = await call(['tasks', 'retry', one, '--tree']);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(rows(again), [`${one} again cancelled`, `${two} again cancelled`, `${three} again cancelled`]);
  assert.match(again.stderr, /^(?:.*\n)*3 tasks: 3 run again\.\n$/);
  const [next] = await engine.claim({ worker, max: 9, queues: ['q'] });
  assert.equal(next?.task, graph[0]?.task);
  await engine.complete(next as NonNullable<typeof next>, 1);
  const later = await call(['tasks', 'retry', one, '--tree', '--dry-run']);
  assert.equal(later.stderr, '3 tasks: 1 completed, kept, 2 not ended, left alone. Nothing was changed.\n');
});

test('what needs a failed task outside of the tree is left alone, and the status tells', async (t) => {
  const { call, url } = place(t);
  await call(['push', 'other']);
  const { engine, worker } = await workAt(t, url);
  const graph = await engine.pushGraph([
    { queue: 'q', handler: 'h', name: 'a' },
    { queue: 'q', handler: 'h', name: 'b' },
    { queue: 'q', handler: 'h', after: ['a', 'b'] },
  ]);
  for (const grant of await engine.claim({ worker, max: 2, queues: ['q'] }))
    await engine.fail(grant, 'no', { giveUp: true });
  const answer = await call(['tasks', 'retry', graph[0]?.id ?? '', '--tree']);
  assert.equal(answer.code, 1);
  assert.match(answer.stderr, /2 tasks: 1 run again, 1 left alone, for something else that they need has failed\./);
});

test('trees are named by ids, and a look without a tree is wrong usage', async (t) => {
  const { call } = place(t);
  const [id = ''] = (await call(['push', 'echo'])).lines;
  for (const [args, code, says] of [
    [['cancel', id, '--dry-run'], 2, /--dry-run is not valid: it goes with --tree/],
    [['retry', id, '--dry-run'], 2, /--dry-run is not valid: it goes with --tree/],
    [['retry', '--tree', '--queue', 'echo', '--state', 'failed'], 2, /--tree is not valid: it needs the id/],
    [['cancel', '4711', '--tree'], 3, /^There is no task 4711\./],
    [['retry', '4711', '--tree'], 3, /^There is no task 4711\./],
  ] as const) {
    const answer = await call(['tasks', ...args]);
    assert.equal(answer.code, code, `${args.join(' ')}: ${answer.stderr}`);
    assert.match(answer.stderr, says);
  }
  assert.equal((await call(['tasks', 'show', id, '--json'])).objects()[0]?.state, 'ready');
});
