import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine, type EngineOptions } from '../engine.ts';
import type { ArtifactRequest } from './artifacts.ts';

const REQUEST: ArtifactRequest = { name: 'out.txt', type: 'text/plain', size: 10, sha256: 'ab'.repeat(32) };
const NONE = `art_${'0'.repeat(32)}`;

interface Rig {
  readonly engine: Engine;
  /** A task that runs. */
  readonly running: (queue?: string) => Promise<Grant>;
}

async function rig(t: TestContext, options: Partial<EngineOptions> = {}): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world, ...options });
  t.after(() => store.close());
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9, tags: [] });
  const running = async (queue = 'mail'): Promise<Grant> => {
    const { task } = await engine.push({ queue, handler: 'send' });
    const [grant] = await engine.claim({ worker, max: 1, task });
    assert.ok(grant);
    return grant;
  };
  return { engine, running };
}

async function leave({ engine }: Rig, lease: Grant, request: Partial<ArtifactRequest> = {}): Promise<string> {
  const { id } = await engine.artifacts.begin(lease, { ...REQUEST, ...request });
  await engine.artifacts.end(lease, id);
  return id;
}

test('an artifact is begun, sent and ended, and is found by its id and its name', async (t) => {
  const { engine, running } = await rig(t);
  const { artifacts } = engine;
  const grant = await running();
  const { id, blob } = await artifacts.begin(grant, REQUEST);
  assert.match(id, /^art_[0-9a-f]{32}$/);
  assert.equal(blob, `sha256/ab/${REQUEST.sha256}-${id.slice(4)}`);
  const { task } = grant;
  assert.equal((await artifacts.pending(id))?.blob, blob);
  assert.equal(await refusal(artifacts.get(id)), 'NOT_FOUND');
  assert.equal(await artifacts.find({ task, name: REQUEST.name }), undefined);
  const record = await artifacts.end(grant, id);
  assert.deepEqual([record.id, record.kind, record.task, record.root, record.attempt], [id, 'file', task, task, 1]);
  assert.deepEqual(await artifacts.end(grant, id), record);
  assert.deepEqual(await artifacts.get(id), record);
  assert.deepEqual(await artifacts.find({ task, name: REQUEST.name }), record);
  assert.deepEqual(await artifacts.list(), [record]);
  assert.deepEqual(await artifacts.list({ root: task, name: REQUEST.name, before: record.n + 1 }), [record]);
  assert.deepEqual(await artifacts.list({ task, tasks: [task, 99] }), [record]);
  assert.deepEqual([await artifacts.list({ task, tasks: [99] }), await artifacts.list({ tasks: [] })], [[], []]);
  assert.equal(await artifacts.pending(id), undefined);
  assert.deepEqual(await artifacts.usage(), { entries: 1, bytes: 10 });
  assert.equal(await artifacts.remove([id]), 1);
  assert.equal(await refusal(artifacts.get(id)), 'NOT_FOUND');
  assert.deepEqual(await artifacts.usage(), { entries: 0, bytes: 0 });
});

test('a lease that is lost begins nothing and ends nothing', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  const { id } = await engine.artifacts.begin(grant, REQUEST);
  await engine.release(grant);
  assert.equal(await refusal(engine.artifacts.begin(grant, REQUEST)), 'LEASE_LOST');
  assert.equal(await refusal(engine.artifacts.end(grant, id)), 'LEASE_LOST');
  assert.equal(await refusal(engine.artifacts.end(await running('other'), id)), 'NOT_FOUND');
});

test('what is malformed is refused before anything is written', async (t) => {
  const { engine, running } = await rig(t);
  const { artifacts } = engine;
  const grant = await running();
  const begin = (bad: object) => refusal(artifacts.begin(grant, { ...REQUEST, ...bad }));
  for (const bad of [{ name: '../a' }, { type: 'x' }, { size: -1 }, { sha256: 'AB' }, { kind: 'x' }]) {
    assert.equal(await begin(bad), 'INVALID_INPUT');
  }
  assert.equal(await begin({ path: '/etc' }), 'UNKNOWN_OPTION');
  assert.equal(await refusal(artifacts.begin(grant, REQUEST, { own: 1 as never })), 'INVALID_INPUT');
  assert.equal(await refusal(artifacts.end(grant, 'art_1')), 'INVALID_ID');
  assert.equal(await refusal(artifacts.remove(['art_1'])), 'INVALID_ID');
  assert.equal(await refusal(artifacts.get('../../etc')), 'NOT_FOUND');
  assert.equal(await artifacts.pending('x'), undefined);
  const many = Array.from({ length: 1001 }, (_, n) => n);
  for (const bad of [{ limit: 1001 }, { before: -1 }, { tasks: many }, { name: 'a//b' }, { root: -1.5 }]) {
    assert.equal(await refusal(artifacts.list(bad)), 'INVALID_INPUT', JSON.stringify(bad).slice(0, 40));
  }
  assert.equal(await refusal(artifacts.remove(many.map(() => NONE))), 'INVALID_INPUT');
  assert.deepEqual(await artifacts.usage(), { entries: 0, bytes: 0 });
  for (const quota of [-1, 1.5, '7'] as const) {
    const { store, world } = engine;
    assert.throws(() => new Engine({ store, world, artifactQuota: quota as number }), /artifactQuota/);
  }
});

test('a full quota says whose it is, what is used and what the bound is', async (t) => {
  const { engine, running } = await rig(t, { artifactQuota: 30, artifactTaskQuota: 15 });
  const [a, b, c] = [await running(), await running(), await running()];
  const refused = async (lease: Grant, request: Partial<ArtifactRequest> = {}): Promise<unknown> => {
    const begun = engine.artifacts.begin(lease, { ...REQUEST, ...request });
    const error: unknown = await begun.catch((reason: unknown) => reason);
    assert.ok(isEngineError(error, 'ARTIFACT_QUOTA') && error.status === 507);
    const { problem: _, ...details } = error.details ?? {};
    return details;
  };
  await engine.artifacts.begin(a, REQUEST);
  assert.deepEqual(await refused(a, { name: 'b' }), { of: 'task', used: 10, quota: 15 });
  await engine.artifacts.begin(b, { ...REQUEST, size: 15 });
  assert.deepEqual(await refused(c), { of: 'all', used: 25, quota: 30 });
});

test('a completion refers only to whole artifacts of its own tree', async (t) => {
  const all = await rig(t);
  const { engine, running } = all;
  const [grant, other] = [await running(), await running()];
  const [mine, foreign] = [await leave(all, grant), await leave(all, other)];
  const { id: begun } = await engine.artifacts.begin(grant, { ...REQUEST, name: 'begun' });
  for (const artifacts of [[foreign], [mine, begun], [NONE], ['art_x'], [7 as never]]) {
    assert.equal(await refusal(engine.complete(grant, 1, { artifacts })), 'ARTIFACT_UNKNOWN');
    const then = { go: 'complete', result: 1, artifacts } as const;
    assert.equal(await refusal(engine.turn(grant, { then })), 'ARTIFACT_UNKNOWN');
  }
  const many = Array.from({ length: 1001 }, () => mine);
  assert.equal(await refusal(engine.complete(grant, 1, { artifacts: many })), 'INVALID_INPUT');
  assert.equal((await engine.get(grant.task))?.state, 'running', 'nothing was changed');
  const answers = await engine.completeMany([
    { lease: other, result: 1, artifacts: [mine] },
    { lease: grant, result: 2, artifacts: [mine, mine] },
  ]);
  assert.ok(isEngineError(answers[0], 'ARTIFACT_UNKNOWN') && answers[1] === undefined);
  assert.equal((await engine.get(grant.task))?.result, '2');
  await engine.complete(grant, 2, { artifacts: [mine] });
  await engine.turn(other, { then: { go: 'complete', artifacts: [foreign] } });
  assert.equal((await engine.get(other.task))?.state, 'completed');
});

test('a task may refer to what another one of its tree has left', async (t) => {
  const all = await rig(t);
  const { engine, running } = all;
  const root = await running();
  const turn = await engine.turn(root, {
    entries: [{ key: 'child', kind: 'child', child: { queue: 'mail', handler: 'send' } }],
  });
  const task = turn.entries[0]?.child?.task as number;
  const worker = (await engine.workers.list())[0]?.worker as number;
  const [child] = await engine.claim({ worker, max: 1, task });
  assert.ok(child);
  const [above, below] = [await leave(all, root), await leave(all, child)];
  await engine.complete(child, 1, { artifacts: [above, below] });
  await engine.complete(root, 1, { artifacts: [below] });
  assert.deepEqual(
    (await engine.artifacts.list({ root: root.task })).map(({ id }) => id),
    [below, above],
  );
});
