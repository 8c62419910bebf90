import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { HOUR, refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import type { RunRequest } from './runs.ts';

type Start = Partial<RunRequest['run']> & {
  readonly input?: unknown;
  readonly text?: string;
  readonly more?: Partial<RunRequest['request']>;
};

const define = (body: string) => ({
  hash: createHash('sha256').update(body).digest('hex'),
  kind: 'machine',
  body,
});

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world, retentionMs: HOUR });
  t.after(() => store.close());
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 8 });
  const start = ({ input = 1, text, more, ...run }: Start = {}) =>
    engine.runs.start({
      request: { queue: 'q', handler: 'machine', input, ...more },
      run: { kind: 'machine', title: 'writer', ...run },
      ...(text === undefined ? {} : { definition: define(text) }),
    });
  const claim = async (task: number) => {
    const [grant] = await engine.claim({ worker, max: 1, task });
    assert.ok(grant);
    return grant;
  };
  /** A run that has ended, with a child that has. */
  const failed = async (name: string) => {
    const { run } = await start({ name });
    const grant = await claim(run.task);
    const turned = await engine.turn(grant, {
      entries: [{ key: 'c', kind: 'child', child: { queue: 'q', handler: 'child' } }],
      then: { go: 'on' },
    });
    const child = turned.entries[0]?.child;
    assert.ok(child);
    await engine.fail(await claim(child.task), 'no', { giveUp: true });
    await engine.fail(grant, 'no', { giveUp: true });
    return { run, child };
  };
  return { world, engine, start, claim, failed };
}

test('a run is started with its definition, found by number, id and name, and claimed like any task', async (t) => {
  const { engine, start, claim } = await rig(t);
  const { run, fresh, revived } = await start({ name: 'nightly', labels: { team: 'a' }, text: '{}', forkedFrom: 4 });
  assert.deepEqual([fresh, revived, run.state, run.labels, run.forkedFrom], [true, false, 'ready', { team: 'a' }, 4]);
  assert.equal(engine.parseId(run.id), run.task);
  for (const ref of [run.task, run.id, 'nightly']) assert.deepEqual(await engine.runs.get(ref), run);
  assert.equal((await engine.runs.definition(run.definition as string))?.body, '{}');
  await engine.complete(await claim(run.task), 'done');
  assert.equal((await engine.runs.get('nightly'))?.state, 'completed');
  assert.equal(await engine.runs.get('other'), undefined);
  assert.equal(await engine.runs.get(4711), undefined);
});

test('a claim that waits gets a run as soon as it is started', async (t) => {
  const { engine, start } = await rig(t);
  const worker = await engine.workers.register({ name: 'w2', incarnation: 'w2', slots: 1 });
  const waits = engine.claim({ worker, max: 1, waitMs: 60_000 });
  const { run } = await start();
  assert.equal((await waits)[0]?.task, run.task);
});

test('the same work under the same name is the same run, unfinished or completed', async (t) => {
  const { engine, start, claim } = await rig(t);
  const first = await start({ name: 'a', text: '{}', input: { x: 1, y: 2 } });
  const again = await start({ name: 'a', text: '{}', input: { y: 2, x: 1 } });
  assert.deepEqual([again.run, again.fresh, again.revived], [first.run, false, false]);
  await engine.complete(await claim(first.run.task), 7);
  const after = await start({ name: 'a', text: '{}', input: { x: 1, y: 2 } });
  assert.deepEqual([after.run.task, after.run.state, after.revived], [first.run.task, 'completed', false]);
  assert.equal((await engine.get(after.run.task))?.result, '7');
});

test('other work under a name is refused, and the error names the run', async (t) => {
  const { start } = await rig(t);
  const { run } = await start({ name: 'a', text: '{}' });
  for (const other of [{ input: 2 }, { text: '{"a":1}' }, { more: { handler: 'other' } }]) {
    await assert.rejects(start({ name: 'a', text: '{}', ...other }), (error) => {
      assert.ok(isEngineError(error, 'UNIQUE_CONFLICT'));
      assert.equal(error.details?.['run'], run.id);
      return error.hint?.includes(run.id) === true;
    });
  }
  const moved = await start({ name: 'a', text: '{}', more: { queue: 'elsewhere', priority: 5 } });
  assert.deepEqual([moved.run.task, moved.run.queue], [run.task, 'q'], 'where it runs is no part of the work');
});

test('a failed run that is started again is revived with its tree, its root last', async (t) => {
  const { engine, start, failed } = await rig(t);
  const { run, child } = await failed('a');
  const again = await start({ name: 'a' });
  assert.deepEqual([again.run.task, again.run.state, again.fresh, again.revived], [run.task, 'ready', false, true]);
  assert.equal((await engine.get(child.task))?.state, 'ready');
  assert.equal((await start({ name: 'a' })).revived, false);
});

test('a caller may ask for a failed run as it is', async (t) => {
  const { engine, failed } = await rig(t);
  const { run } = await failed('a');
  const request = { queue: 'q', handler: 'machine', input: 1 };
  const again = await engine.runs.start({ request, run: { name: 'a', kind: 'x', title: 't' }, revive: false });
  assert.deepEqual([again.run.task, again.run.state, again.revived], [run.task, 'failed', false]);
});

test('many starts of one failed run revive it once', async (t) => {
  const { engine, start, failed } = await rig(t);
  const { run } = await failed('a');
  const all = await Promise.all(Array.from({ length: 4 }, () => start({ name: 'a' })));
  assert.deepEqual(new Set(all.map(({ run: one }) => one.task)), new Set([run.task]));
  assert.equal((await engine.stats('q')).ready, 2);
});

test('a run that was removed is started anew under its name', async (t) => {
  const { world, engine, start, claim } = await rig(t);
  const first = await start({ name: 'a', text: '{}' });
  await engine.complete(await claim(first.run.task));
  await engine.push({ queue: 'q', handler: 'young' });
  await world.advance(2 * HOUR);
  const duty = await engine.store.dutyTake({ name: 'pruner', holder: 'a', ttlMs: HOUR });
  assert.ok(duty);
  await engine.store.taskPrune({ duty, retentionMs: engine.retentionMs, limit: 100 });
  assert.equal(await engine.runs.get('a'), undefined);
  assert.equal(await engine.runs.definition(define('{}').hash), undefined);
  const second = await start({ name: 'a', input: 'other' });
  assert.deepEqual([second.fresh, second.run.task === first.run.task], [true, false]);
});

test('an operation id gets the first answer again, whatever became of the run', async (t) => {
  const { engine, start, claim } = await rig(t);
  const { run } = await start({ more: { op: 'o' } });
  await engine.fail(await claim(run.task), 'no', { giveUp: true });
  const again = await start({ more: { op: 'o' } });
  assert.deepEqual([again.run.task, again.run.state, again.fresh, again.revived], [run.task, 'failed', false, false]);
  assert.equal(await refusal(start({ input: 2, more: { op: 'o' } })), 'CONFLICT');
  await start({ more: { unique: 'k' } });
  assert.equal(await refusal(start({ input: 2, more: { unique: 'k' } })), 'UNIQUE_CONFLICT');
  await engine.limits.set('one', { concurrent: 1, strategy: 'refuse' }, 'me');
  await start({ more: { limits: ['one'] } });
  assert.equal(await refusal(start({ name: 'no', more: { limits: ['one'] } })), 'LIMIT_REACHED');
  assert.equal(await engine.runs.get('no'), undefined);
});

test('a definition that the store has is named by its hash alone', async (t) => {
  const { engine } = await rig(t);
  const text = define('{"a":1}');
  const request = { queue: 'q', handler: 'h' };
  const named = { request, run: { kind: 'machine', title: 't' }, definition: { hash: text.hash } };
  assert.equal(await refusal(engine.runs.start(named)), 'NOT_FOUND');
  await engine.runs.define([text]);
  assert.equal((await engine.runs.start(named)).run.definition, text.hash);
});

test('who cancelled a run and why is kept until it runs again', async (t) => {
  const { engine, start, claim } = await rig(t);
  const { run } = await start({ name: 'a' });
  const grant = await claim(run.task);
  await engine.turn(grant, {
    entries: [{ key: 'c', kind: 'child', child: { queue: 'q', handler: 'child' } }],
    then: { go: 'on' },
  });
  const dry = await engine.runs.cancel('a', { why: 'no', dryRun: true });
  assert.deepEqual([dry.counts.requested, dry.counts.cancelled], [1, 1]);
  assert.equal((await engine.runs.get('a'))?.cancelNote, undefined);
  await engine.runs.cancel('a', { why: 'too slow', by: 'ann' });
  const asked = await engine.runs.get('a');
  assert.deepEqual([asked?.cancelNote?.why, asked?.cancelNote?.by], ['too slow', 'ann']);
  assert.notEqual(asked?.cancelRequestedAt, undefined);
  assert.deepEqual(await engine.runs.count('a'), { ...(await engine.runs.count(run.task)), running: 1, cancelled: 1 });
  await engine.cancelled(grant);
  assert.equal((await engine.runs.get('a'))?.cancelNote?.why, 'too slow');
  const { counts } = await engine.runs.retry('a');
  assert.equal(counts.again, 2);
  assert.equal((await engine.runs.get('a'))?.cancelNote, undefined);
});

test('a plain task is a run of kind task: it can be shown, cancelled with a reason and run again', async (t) => {
  const { engine } = await rig(t);
  const pushed = await engine.push({ queue: 'q', handler: 'resize' });
  const run = await engine.runs.get(pushed.id);
  assert.deepEqual([run?.kind, run?.title, run?.name], ['task', 'resize', undefined]);
  await engine.runs.cancel(pushed.task, { why: 'w' });
  assert.deepEqual((await engine.runs.get(pushed.task))?.cancelNote?.why, 'w');
  await engine.runs.retry(pushed.id);
  assert.equal((await engine.runs.get(pushed.task))?.state, 'ready');
});

test('a child is cancelled by its id, and the count is that of its tree', async (t) => {
  const { engine, failed, start } = await rig(t);
  const { child, run } = await failed('a');
  await start({ name: 'a' });
  const { counts } = await engine.runs.cancel(child.id, { why: 'no place for it' });
  assert.equal(counts.cancelled, 1);
  assert.deepEqual(await engine.runs.count(child.id), await engine.runs.count(run.task));
});

test('runs are listed newest first, with filters, until a page is full', async (t) => {
  const { engine, start, claim } = await rig(t);
  const tasks: number[] = [];
  for (let i = 0; i < 6; i++)
    tasks.push((await start({ name: `n${i}`, kind: i % 2 === 0 ? 'agent' : 'machine' })).run.task);
  await engine.complete(await claim(tasks[0] as number));
  const first = await engine.runs.list({ limit: 4 });
  assert.deepEqual(
    first.runs.map(({ task }) => task),
    tasks.toReversed().slice(0, 4),
  );
  const rest = await engine.runs.list({ limit: 4, before: first.next });
  assert.deepEqual([rest.runs.length, rest.next], [2, undefined]);
  assert.equal(rest.runs[0]?.id, engine.idOf(rest.runs[0] as { task: number; createdAt: number }));
  assert.deepEqual((await engine.runs.list({ kind: 'agent' })).runs.length, 3);
  assert.deepEqual((await engine.runs.list({ states: ['completed'], name: 'n' })).runs.length, 1);
  assert.deepEqual((await engine.runs.list({ title: 'writer', name: '' })).runs.length, 6);
});

test('malformed runs are refused before anything is written', async (t) => {
  const { engine, start } = await rig(t);
  const { runs } = engine;
  const request = { queue: 'q', handler: 'h' };
  const run = { kind: 'machine', title: 't' };
  const text = define('{}');
  const bad = [
    () => start({ name: 'a\nb' }),
    () => start({ kind: 'Not A Word' }),
    () => start({ labels: { a: 1 } as never }),
    () => start({ forkedFrom: 'x' as never }),
    () => runs.start({ request, run, definition: { ...text, body: '{ }' } }),
    () => runs.start({ request, run, definition: { hash: 'short' } }),
    () => runs.define([{ ...text, hash: '0'.repeat(64) }]),
    () => runs.get(''),
    () => runs.get(-1),
    () => runs.list({ limit: 0 }),
    () => runs.list({ before: -1 }),
    () => runs.list({ kind: 7 as never }),
    () => runs.list({ states: ['gone' as never] }),
    () => runs.cancel('a', { why: 7 as never }),
    () => runs.definition('x'),
  ];
  for (const act of bad) assert.equal(await refusal(act()), 'INVALID_INPUT', String(act));
  const unknown = [
    () => runs.start({ request, run: { ...run, x: 1 } as never }),
    () => runs.start({ request, run, more: 1 } as never),
    () => runs.start({ request, run, definition: { ...text, more: 1 } as never }),
    () => runs.list({ more: 1 } as never),
  ];
  for (const act of unknown) assert.equal(await refusal(act()), 'UNKNOWN_OPTION', String(act));
  for (const act of [() => runs.cancel('none'), () => runs.retry('none'), () => runs.count('none')]) {
    assert.equal(await refusal(act()), 'NOT_FOUND');
  }
  assert.deepEqual((await runs.list()).runs, []);
});

test('a new run is traced, and one that was there is not', async (t) => {
  const { world, start } = await rig(t);
  const traced: string[] = [];
  Object.assign(world, {
    tracing: { pushing: () => (pushed: readonly { id: string }[]) => traced.push(...pushed.map(({ id }) => id)) },
  });
  const { run } = await start({ name: 'a' });
  await start({ name: 'a' });
  assert.deepEqual(traced, [run.id]);
});
