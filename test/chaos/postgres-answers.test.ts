/** A statement takes effect and its answer is lost: the store finds out, and does nothing twice. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { realWorld } from '../../src/app/world.ts';
import { normalizeLimit } from '../../src/core/limits/limit.ts';
import { openPostgres } from '../../src/store/postgres/open.ts';
import type { PostgresStore } from '../../src/store/postgres/store.ts';
import type { Grant, NewTask, Store } from '../../src/store/store.ts';
import { freshDatabase } from '../support/postgres.ts';
import { Relay } from './remote/relay.ts';

interface Scene {
  readonly relay: Relay;
  /** Behind the relay. */
  readonly store: Store;
  /** Beside it. */
  readonly other: Store;
  readonly task: (more?: Partial<NewTask>) => NewTask;
  readonly worker: number;
}

async function scene(t: TestContext, deadlineMs = 15_000): Promise<Scene> {
  const database = await freshDatabase('answers');
  const relay = await Relay.before(t, database);
  const world = realWorld();
  const open = async (url: string): Promise<PostgresStore> => {
    const store = await openPostgres({ url, world, deadlineMs });
    t.after(() => store.close());
    return store;
  };
  const other = await open(database);
  const store = await open(relay.url);
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'h' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const worker = await store.workerRegister({ name: 'w', incarnation: 'w', slots: 1, tags: [] });
  const task: Scene['task'] = (more = {}) =>
    ({ lane: lane?.id, spec, priority: 0, maxTries: 3, payload: '1', ...more }) as NewTask;
  return { relay, store, other, task, worker };
}

async function claim({ worker, task }: Scene, store: Store, max = 10): Promise<readonly Grant[]> {
  const { lane } = task();
  const claims = [{ holder: worker, ttlMs: 60_000, max, lanes: [{ lane, max }], op: undefined }];
  return (await store.taskClaim({ claims }))[0]?.grants ?? [];
}

const complete = (store: Store, { task, attempt }: Grant) =>
  store.taskSettle({ items: [{ task, attempt, to: 'completed', reason: 'none', result: '1' }] });

async function all(store: Store): Promise<readonly string[]> {
  const records = await store.taskList({ limit: 100 });
  return records.map(({ task, state, attempt }) => `${task} ${state} ${attempt}`).toSorted();
}

for (const [what, items] of [
  ['one push', [{}]],
  ['some pushes', [{}, { payload: '2' }]],
  ['some different pushes', [{}, { priority: 1 }, { payload: '3' }]],
  ['pushes with more to them', [{ delayMs: 60_000 }, { payload: '2' }]],
] as const) {
  test(`${what} whose answer is lost make one task each, and are told them in order`, async (t) => {
    const it = await scene(t);
    // Which statement it takes is up to the store.
    it.relay.loseAnswer('push[A-Za-z]*');
    const answers = await it.store.taskPush({ items: items.map((more) => it.task(more)) });
    assert.ok(!it.relay.waiting, 'the answer was lost');
    const records = await it.other.taskGet({ tasks: answers.map((answer) => (answer.ok ? answer.task : 0)) });
    const expected = items.map((more) => ('payload' in more ? more.payload : '1'));
    assert.deepEqual(
      records.map((record) => record?.payload),
      expected,
    );
    assert.ok(answers.every((answer) => answer.ok && answer.fresh));
    assert.equal((await all(it.other)).length, items.length);
  });
}

for (const [what, more] of [
  ['a unique key', { unique: { key: 'k', hash: 7, windowMs: 0 } }],
  ['an operation id', { op: 'o' }],
] as const) {
  test(`a push with ${what} whose answer is lost makes one task, even when that has ended before it is sent again`, async (t) => {
    const it = await scene(t);
    it.relay.loseAnswer('COMMIT', async () => {
      for (const grant of await claim(it, it.other)) assert.deepEqual(await complete(it.other, grant), ['done']);
    });
    const [answer] = await it.store.taskPush({ items: [it.task(more)] });
    assert.ok(!it.relay.waiting, 'the answer was lost');
    assert.equal(answer?.ok, true);
    assert.deepEqual(await all(it.other), [`${answer?.ok && answer.task} completed 1`]);
    // The key is free again, and leads to nothing that is not there.
    const [next] = await it.store.taskPush({ items: [it.task({ ...more, op: 'p' })] });
    assert.equal(next?.ok && next.fresh, true);
    assert.equal((await all(it.other)).length, 2);
  });
}

test('a claim whose answer is lost answers with the same grants', async (t) => {
  const it = await scene(t);
  await it.other.taskPush({ items: [it.task(), it.task(), it.task()] });
  it.relay.loseAnswer('claim');
  const grants = await claim(it, it.store, 2);
  assert.ok(!it.relay.waiting, 'the answer was lost');
  assert.deepEqual(
    grants.map(({ attempt }) => attempt),
    [1, 1],
  );
  assert.equal((await claim(it, it.other)).length, 1);
});

for (const [what, statement, to, told] of [
  ['completed', 'complete', 'completed', true],
  ['completed, of an unknown lane', 'completeLimited', 'completed', false],
  ['failed', 'settle', 'failed', false],
] as const) {
  test(`an end whose answer is lost is recorded once (${what})`, async (t) => {
    const it = await scene(t);
    await it.other.taskPush({ items: [it.task()] });
    const [grant] = (await claim(it, it.store)) as [Grant];
    it.relay.loseAnswer(statement);
    const reason = to === 'failed' ? 'gave_up' : 'none';
    const { task, attempt, lane, createdAt } = grant;
    const hint = told ? { lane, createdAt } : undefined;
    const answers = await it.store.taskSettle({ items: [{ task, attempt, to, reason, result: '1', hint }] });
    assert.ok(!it.relay.waiting, 'the answer was lost');
    assert.deepEqual(answers, ['repeated']);
    assert.deepEqual(await all(it.other), [`${task} ${to} 1`]);
  });
}

test('a task that is given back and whose answer is lost may run again at once, and is not given back twice', async (t) => {
  const it = await scene(t);
  await it.other.taskPush({ items: [it.task()] });
  const [{ task, attempt }] = (await claim(it, it.store)) as [Grant];
  it.relay.loseAnswer('return', async () => {
    assert.equal((await claim(it, it.other)).length, 1);
  });
  const item = { task, attempt, change: 'released', delayMs: 0, refund: true, bounced: false } as const;
  assert.deepEqual(await it.store.taskReturn({ items: [item] }), ['repeated']);
  assert.ok(!it.relay.waiting, 'the answer was lost');
  assert.deepEqual(await all(it.other), [`${task} running 2`]);
});

test('a cancel and a revival whose answers are lost say what they did', async (t) => {
  const it = await scene(t);
  const [pushed] = await it.other.taskPush({ items: [it.task()] });
  const id = pushed?.ok ? pushed.task : 0;
  it.relay.loseAnswer('cancelIdle');
  assert.deepEqual(await it.store.taskCancel({ tasks: [id] }), ['cancelled']);
  assert.ok(!it.relay.waiting, 'the answer was lost');
  it.relay.loseAnswer('revive');
  const [answer] = await it.store.taskRevive({ tasks: [id] });
  assert.ok(!it.relay.waiting, 'the answer was lost');
  assert.equal(answer?.ok, true);
  assert.deepEqual(await all(it.other), [`${id} ready 0`]);
});

test('a duty that is taken with a lost answer is held by who took it', async (t) => {
  const it = await scene(t);
  it.relay.loseAnswer('dutyTake');
  const tenure = await it.store.dutyTake({ name: 'd', holder: 'me', ttlMs: 60_000 });
  assert.ok(!it.relay.waiting, 'the answer was lost');
  assert.equal(tenure?.epoch, 1);
  assert.equal(await it.store.dutyRenew({ duty: tenure as NonNullable<typeof tenure>, ttlMs: 60_000 }), true);
});

test('tokens that are made, exchanged and ended with lost answers are so once, and are told the same', async (t) => {
  const it = await scene(t);
  const token = { kind: 'secret', role: 'worker', name: 'w', prefix: '', by: '' } as const;
  const code = { ...token, kind: 'code', hash: 'code' } as const;
  const lost = async <T>(call: (store: Store) => Promise<T>): Promise<T> => {
    it.relay.loseAnswer('COMMIT');
    const answer = await call(it.store);
    assert.ok(!it.relay.waiting, 'the answer was lost');
    return answer;
  };
  const alive = async (): Promise<readonly string[]> => {
    const all = await it.other.tokenList();
    const live = await it.other.tokenAlive({ ids: all.map(({ id }) => id) });
    return all.filter((_, i) => live[i]).map(({ kind, id }) => `${kind} ${id}`);
  };
  const first = await lost((store) => store.tokenAdd({ token: { ...token, hash: 'first' } }));
  const made = await lost((store) => store.tokenAdd({ token: code, replaces: { graceMs: 0 } }));
  assert.deepEqual(await alive(), [`code ${made.id}`, `secret ${first.id}`]);
  const next = { token: { ...token, hash: 'next' }, replaces: { graceMs: 0 } };
  const secret = await lost((store) => store.tokenExchange({ hash: 'code', ...next }));
  assert.deepEqual([await alive(), (await it.other.tokenList()).length], [[`secret ${secret?.id}`], 3]);
  const none = await lost((store) => store.tokenExchange({ hash: 'code', token: { ...token, hash: 'none' } }));
  assert.equal(none, undefined);
  assert.equal(await lost((store) => store.tokenRevoke({ id: secret?.id ?? 0 })), true);
  await it.other.tokenAdd({ token: { ...token, hash: 'b' } });
  await it.other.workerSet({ name: 'w', tags: ['x'] });
  assert.deepEqual(await lost((store) => store.workerForget({ name: 'w' })), { setting: true, tokens: 1 });
  assert.deepEqual(await alive(), []);
  await assert.rejects(it.store.tokenAdd({ token: { ...token, hash: 'b' } }), { code: 'CONFLICT' });
});

test('edits whose answers are lost are made once, and undo nothing that was said meanwhile', async (t) => {
  const it = await scene(t);
  const lost = async <T>(call: (store: Store) => Promise<T>, meanwhile?: () => Promise<unknown>): Promise<T> => {
    it.relay.loseAnswer('COMMIT', async () => void (await meanwhile?.()));
    const answer = await call(it.store);
    assert.ok(!it.relay.waiting, 'the answer was lost');
    return answer;
  };
  const limit = (concurrent: number) => ({ name: 'api', by: 'me', limit: normalizeLimit({ concurrent }) });
  const edit = (concurrent: number, ifRevision?: number) => ({
    name: 'api',
    by: 'me',
    edit: { concurrent },
    ifRevision,
  });
  const history = async (): Promise<readonly (number | undefined)[]> =>
    (await it.other.limitHistory({ name: 'api', limit: 100 })).map((change) => change.limit?.concurrent).toReversed();
  assert.equal(await lost((store) => store.limitPut(limit(1))), 1);
  const { before, after } = await lost(
    (store) => store.limitEdit(edit(2, 1)),
    () => it.other.limitEdit(edit(3)),
  );
  assert.deepEqual([before?.revision, after.revision, after.limit.concurrent], [1, 2, 2]);
  assert.equal(await lost((store) => store.limitRemove({ name: 'api', by: 'me' })), true);
  assert.deepEqual(await history(), [1, 2, 3, undefined]);

  await lost(
    (store) => store.workerSet({ name: 'box', addTags: ['a', 'b'] }),
    () => it.other.workerSet({ name: 'box', removeTags: ['a'] }),
  );
  assert.deepEqual((await it.other.workerSettings())[0]?.tags, ['b']);

  const view = { name: 'v', screen: 'tasks', query: '', by: 'me' };
  const saved = await lost(
    (store) => store.viewPut({ view, most: 1 }),
    () => it.other.viewPut({ view: { ...view, query: 'state=ready' }, most: 1 }),
  );
  assert.equal(saved?.query, '');
  assert.equal((await it.other.viewList())[0]?.query, 'state=ready');
});

test('what one claim was granted is told, though the store is gone before the next one', async (t) => {
  const it = await scene(t, 1500);
  await it.other.taskPush({ items: [it.task()] });
  const second = await it.store.workerRegister({ name: 'v', incarnation: 'v', slots: 1, tags: [] });
  const { lane } = it.task();
  const ask = (holder: number) => ({ holder, ttlMs: 60_000, max: 1, lanes: [{ lane, max: 1 }], op: undefined });
  it.relay.cutAfter('claim');
  const answers = await it.store.taskClaim({ claims: [ask(it.worker), ask(second)] });
  assert.deepEqual([answers[0]?.grants.length, answers[1]], [1, undefined]);
  await assert.rejects(it.store.taskClaim({ claims: [ask(second)] }), { code: 'STORE_UNAVAILABLE' });
});
