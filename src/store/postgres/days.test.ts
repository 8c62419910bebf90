import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { adminOf, stopClock } from '../../../test/support/postgres-contract.ts';
import { realWorld } from '../../app/world.ts';
import type { Lease } from '../../core/task/lease.ts';
import { DAY, Scene } from '../conformance/kit/scene.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import type { NewEntry, Then } from '../store.ts';
import { openPostgres } from './open.ts';
import type { PostgresStore } from './store.ts';

/** Finished tasks are removed by whole days. Rows of a day that must stay move to `done_rest`. */
const SCHEMA = 'days';
const NOON = Date.UTC(2026, 0, 5, 12);
/** Tasks are kept for up to one day more. */
const RETENTION = 3 * DAY;
const END: Then = { go: 'end', to: 'completed', reason: 'none', result: '"ended"' };

let admin: pg.Client;
let store: PostgresStore;
let scene: Scene;

before(async () => {
  const url = await freshDatabase('days');
  admin = await adminOf(url);
  store = await openPostgres({
    url: `${url}&schema=${SCHEMA}`,
    world: realWorld(),
    prepare: (connection, schema) => stopClock(connection, schema, NOON),
  });
  const pass = async (ms: number): Promise<void> => {
    await admin.query(`UPDATE ${SCHEMA}.test_clock SET ms = ms + $1`, [ms]);
  };
  scene = new Scene(store, new VirtualWorld(), { reopen: undefined, caller: undefined, pass });
  scene.forgets = true;
});

after(async () => {
  await store.close();
  await admin.end();
});

/** Days pass one by one, and each has its table in time. */
async function passDays(n: number): Promise<void> {
  for (let day = 0; day < n; day++) {
    await scene.pass(DAY);
    await prune();
  }
}

async function prune(): Promise<number> {
  const duty = await scene.duty('pruner', 900 * DAY);
  let tasks = 0;
  for (let steps = 0; ; steps++) {
    assert.ok(steps < 100, 'it never comes round');
    const answer = await store.taskPrune({ duty, retentionMs: RETENTION, limit: 4 });
    tasks += answer.tasks;
    if (answer.done) break;
  }
  await store.dutyRelease({ duty });
  return tasks;
}

/** Makes children of this lease, and goes on or ends with it. */
async function bear({ task, attempt }: Lease, count: number, then: Then): Promise<readonly number[]> {
  const draft = await scene.draft({ queue: 'children', payload: JSON.stringify('x'.repeat(2000)) });
  const entries = Array.from({ length: count }, (_, i): NewEntry => ({ key: `c${i}`, kind: 'child', task: draft }));
  const [answer] = await store.taskTurn({ items: [{ task, attempt, entries, then }] });
  assert.ok(answer?.kind === 'done');
  return answer.entries.flatMap((entry) => (entry.kind === 'child' ? [entry.task] : []));
}

const end = async (task: number): Promise<void> => {
  await scene.settle(await scene.claimOne({ task }), 'completed', { result: `"${task}"` });
};

const there = async (...tasks: readonly number[]): Promise<readonly number[]> =>
  (await store.taskGet({ tasks })).flatMap((record) => record?.task ?? []);

/** The tables that hold these tasks. */
async function tablesOf(...tasks: readonly number[]): Promise<readonly string[]> {
  const sql = `SELECT DISTINCT tableoid::regclass::text AS name FROM ${SCHEMA}.done WHERE id = ANY($1) ORDER BY 1`;
  return (await admin.query<{ name: string }>(sql, [tasks])).rows.map(({ name }) => name.replace(`${SCHEMA}.`, ''));
}

test('a day leaves what belongs to living trees and what is needed, and takes all else', async () => {
  await prune();
  const root = await scene.running();
  const [early, late] = (await bear(root, 2, END)) as [number, number];
  await end(early);
  const draft = await scene.draft({ queue: 'graph' });
  const edges = [{ item: 0, optional: false }] as const;
  const graph = await store.graphPush({
    items: [
      { ...draft, after: [], afterFailure: 'cancel' },
      { ...draft, delayMs: 90 * DAY, after: edges, afterFailure: 'cancel' },
    ],
  });
  assert.ok(graph.ok);
  const [needed, needs] = graph.tasks.map(({ task }) => task) as [number, number];
  await end(needed);
  const plain = await scene.running({ queue: 'plain' });
  await scene.settle(plain, 'completed');
  assert.deepEqual(await tablesOf(root.task, early, needed, plain.task), ['done_20260105']);
  await passDays(5);
  assert.deepEqual(await there(root.task, early, needed, plain.task), [root.task, early, needed]);
  assert.deepEqual(await tablesOf(root.task, early, needed), ['done_rest']);
  assert.equal((await scene.get(early)).payload.length, 2002, 'with what lies apart');
  assert.equal((await scene.get(early)).result, `"${early}"`);
  assert.equal((await store.journalList({ task: root.task })).length, 2);
  assert.equal((await store.depList({ task: needs }))[0]?.result, `"${needed}"`);

  await end(late);
  await store.taskCancel({ tasks: [needs] });
  await passDays(3);
  assert.deepEqual(await there(root.task, early, late), [root.task, early, late], 'its youngest end counts for all');
  await passDays(2);
  assert.deepEqual(await there(root.task, early, late, needed, needs), []);
  assert.deepEqual(await store.journalList({ task: root.task }), []);
});

test('a tree that ended over several days goes as a whole, and nothing of it comes back meanwhile', async () => {
  const root = await scene.running();
  const tasks = await bear(root, 12, { go: 'park', key: 'w', channel: 'never' });
  for (const task of tasks.slice(0, 6)) await end(task);
  await passDays(1);
  for (const task of tasks.slice(6)) await end(task);
  await store.taskCancel({ tasks: [root.task] });
  await scene.push({ queue: 'young' });
  assert.equal((await tablesOf(root.task, ...tasks)).length, 2);
  await passDays(4);
  const left = await there(root.task, ...tasks);
  if (left.length > 0) {
    const answers = await store.taskRevive({ tasks: left });
    assert.ok(answers.every(({ ok }) => !ok) || left.length === 13, 'all of it, or none');
  }
  await passDays(2);
  assert.deepEqual(await there(root.task, ...tasks), []);
  const { rows } = await admin.query(`SELECT id FROM ${SCHEMA}.done WHERE root IS NOT NULL OR flags & 640 <> 0`);
  assert.deepEqual(rows, []);
});

test('a root whose members lie in other days goes last', async () => {
  const root = await scene.running();
  const tasks = await bear(root, 9, END);
  await passDays(1);
  for (const task of tasks) await end(task);
  await scene.push({ queue: 'young' });
  await scene.pass(3 * DAY + DAY);
  const duty = await scene.duty('pruner', 900 * DAY);
  for (let steps = 0; (await there(...tasks)).length === 9; steps++) {
    assert.ok(steps < 20, 'no member ever goes');
    await store.taskPrune({ duty, retentionMs: RETENTION, limit: 4 });
  }
  const left = await there(root.task, ...tasks);
  assert.equal(left[0], root.task);
  const answers = await store.taskRevive({ tasks: left });
  assert.deepEqual(new Set(answers.map((answer) => answer.ok || answer.state)), new Set([undefined]));
  await store.dutyRelease({ duty });
  await passDays(1);
  assert.deepEqual(await there(root.task, ...tasks), []);
});

test('the name of a run is free as soon as its day is detached, and the new run stays when the day is cleared', async () => {
  // More than one step clears, and in front of the run.
  for (const task of await scene.pushMany(6, { queue: 'others' })) await end(task);
  const item = await scene.draft({ queue: 'named' });
  const run = { name: 'of a day', kind: 'machine', title: 't', fingerprint: 'f' };
  const [first] = await store.runPush({ runs: [{ task: item, run }] });
  assert.ok(first?.kind === 'made');
  await end(first.task);
  await passDays(3);
  assert.equal((await store.runFind({ name: 'of a day' }))?.task, first.task);
  await scene.pass(DAY);
  const duty = await scene.duty('pruner', 900 * DAY);
  await store.taskPrune({ duty, retentionMs: RETENTION, limit: 1 });
  await store.dutyRelease({ duty });
  const rows = async (): Promise<readonly unknown[]> =>
    (await admin.query(`SELECT task::int FROM ${SCHEMA}.run WHERE name = 'of a day'`)).rows.map(({ task }) => task);
  assert.deepEqual(await rows(), [first.task]);
  assert.equal(await store.runFind({ name: 'of a day' }), undefined, 'its task is not there any more');
  const [second] = await store.runPush({ runs: [{ task: item, run }] });
  assert.ok(second?.kind === 'made');
  await prune();
  assert.deepEqual(await rows(), [second.task]);
});

test('a large day of which much stays is taken out within the deadline of a call', async () => {
  const root = await scene.running();
  await bear(root, 1, { go: 'park', key: 'w', channel: 'never' });
  const [from, total, kept] = [Date.UTC(2020, 0, 1), 100_000, 10_000];
  await admin.query(
    `CREATE TABLE ${SCHEMA}.done_20200101 PARTITION OF ${SCHEMA}.done FOR VALUES FROM (${from}) TO (${from + DAY})`,
  );
  await admin.query(
    `INSERT INTO ${SCHEMA}.done (id, created_at, ended_at, queue, lane, spec, attempt, state, reason, prio, tries, max_tries, bounces,
        flags, parent, root)
      SELECT 1000000 + i, 1, ${from} + i, 1, 1, 1, 1, 4, 0, 0, 1, 1, 0, 0, r, r
      FROM (SELECT i, CASE WHEN i <= ${kept} THEN ${root.task} END AS r FROM generate_series(1, ${total}) i) x`,
  );
  const duty = await scene.duty('pruner', 900 * DAY);
  await store.taskPrune({ duty, retentionMs: RETENTION, limit: 4 });
  await store.dutyRelease({ duty });
  const counts = await store.treeCount({ root: root.task });
  assert.equal(counts.completed, kept);
  const { rows } = await admin.query(`SELECT count(*)::int AS n FROM ${SCHEMA}.done WHERE id > 1000000`);
  assert.deepEqual(rows, [{ n: kept }]);
});
