import assert from 'node:assert/strict';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import { normalizeLimit, normalizeUses } from '../../../../core/limits/limit.ts';
import type { Lease } from '../../../../core/task/lease.ts';
import { Scene } from '../../../conformance/kit/scene.ts';
import { VirtualWorld } from '../../../conformance/kit/virtual-world.ts';
import type { Lane, Then, Turn, TurnAnswer } from '../../../store.ts';
import { openSqlite } from '../../open.ts';

/** How many statements may still run before one fails. The commit is the last of them. */
let left = Number.POSITIVE_INFINITY;

function count(): void {
  if (left-- <= 0) throw new Error('killed here');
}

for (const name of ['run', 'get', 'all'] as const) {
  const real = StatementSync.prototype[name] as (...values: unknown[]) => unknown;
  Object.assign(StatementSync.prototype, {
    [name](this: StatementSync, ...values: unknown[]) {
      count();
      return real.apply(this, values);
    },
  });
}
const { exec } = DatabaseSync.prototype as { readonly exec: (this: DatabaseSync, sql: string) => void };
DatabaseSync.prototype.exec = function counted(this: DatabaseSync, sql: string): void {
  if (sql === 'COMMIT') count();
  exec.call(this, sql);
};

interface Play {
  readonly scene: Scene;
  /** Every row of every table, except the cluster key. */
  readonly tables: () => string;
  readonly turn: Turn;
}

let plays = 0;

/**
 * A turn with everything: values, log lines, children with edges and a key, a signal that wakes a task, and one that is
 * kept.
 */
async function play(then: Then): Promise<Play> {
  const name = `turn-crash-${process.pid}-${plays++}`;
  const world = new VirtualWorld();
  const store = await openSqlite({ file: `memory:${name}`, world, boot: 'the test' });
  const scene = new Scene(store, world, { reopen: undefined, caller: undefined, pass: (ms) => world.advance(ms) });
  const take = ({ task, attempt }: Lease, wait: Omit<Then & { go: 'park' }, 'go'>): Promise<unknown> =>
    store.taskTurn({ items: [{ task, attempt, entries: [], then: { go: 'park', ...wait } }] });
  await take(await scene.running({ queue: 'waiters' }), { key: 'w', channel: 'c' });
  await store.limitPut({ name: 'desk', limit: normalizeLimit({ concurrent: 1 }), by: 'the test' });
  const desk = { queue: 'mail', handler: 'send', limits: normalizeUses(['desk']) };
  const [{ id: lane }] = (await store.laneIntern({ lanes: [desk] })) as readonly [Lane];
  const stranger = await scene.push({ queue: 'strangers' });
  const { task, attempt } = await scene.running({ lane });
  // Another task waits for its end.
  await take(await scene.running({ queue: 'watchers' }), { key: 'w', children: [task] });
  const child = await scene.draft({ queue: 'children' });
  const turn: Turn = {
    task,
    attempt,
    entries: [
      { key: 'a', kind: 'value', value: '{"n":1}' },
      { key: 'b[0]', kind: 'element', value: '2', began: 3, usage: '{"tokens":4}' },
      { key: 'x', kind: 'child', task: { ...child, unique: { key: 'x', hash: 1, windowMs: 1000 } } },
      {
        key: 'y',
        kind: 'child',
        task: { ...child, payload: JSON.stringify('long'.repeat(500)) },
        after: [
          { child: 'x', optional: false },
          { task: stranger, optional: true },
        ],
      },
      { key: 's', kind: 'signal', channel: 'c', body: '"wake up"' },
      { key: 't', kind: 'signal', channel: 'nobody', body: '"for later"' },
    ],
    logs: [1, 2].map((seq) => ({ seq, at: 5, stream: 'log', text: `line ${seq}` }) as const),
    then,
  };
  const db = new DatabaseSync(`file:/leasehold-${name}?vfs=memdb`);
  return { scene, turn, tables: () => dump(db) };
}

function dump(db: DatabaseSync): string {
  const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meta'").all();
  const rows = (name: string): readonly string[] =>
    db
      .prepare(`SELECT * FROM "${name}"`)
      .all()
      .map((row) => JSON.stringify(row));
  return names.map(({ name }) => `${String(name)}\n${rows(String(name)).join('\n')}`).join('\n');
}

async function take({ scene, turn }: Play): Promise<TurnAnswer> {
  const [answer] = await scene.store.taskTurn({ items: [turn] });
  return answer as TurnAnswer;
}

const WAYS: readonly (readonly [name: string, then: Then])[] = [
  ['goes on', { go: 'on' }],
  ['waits for its children', { go: 'park', key: 'w', children: ['x', 'y'], need: 1, timeoutMs: 5 }],
  ['waits on a channel where its own signal lies', { go: 'park', key: 'w', channel: 'nobody' }],
  ['completes', { go: 'end', to: 'completed', reason: 'none', result: JSON.stringify('long'.repeat(500)) }],
  ['is given back', { go: 'back', change: 'retried', delayMs: 9, refund: false, bounced: false, error: '"bad"' }],
];

for (const [name, then] of WAYS) {
  test(`of a turn that dies between any two statements nothing stays, and it can be taken again: it ${name}`, async (t) => {
    const clean = await play(then);
    const due = await take(clean);
    assert.equal(due.kind, 'done');
    const after = clean.tables();

    const killed = await play(then);
    const before = killed.tables();
    assert.notEqual(after, before);
    let answer: TurnAnswer | undefined;
    let deaths = 0;
    for (; answer === undefined; deaths++) {
      left = deaths;
      answer = await take(killed).catch((error: unknown) => {
        assert.match(String((error as Error).cause ?? error), /killed here/);
        return undefined;
      });
      left = Number.POSITIVE_INFINITY;
      if (answer === undefined) assert.equal(killed.tables(), before, `something was left of ${deaths} statements`);
    }
    assert.deepEqual(answer, due, 'it is answered as if nothing had been');
    assert.equal(killed.tables(), after, 'and leaves the same');
    assert.ok(deaths > 20, `a turn that says so much takes more than ${deaths} statements`);
    await killed.scene.checkBooks();
    t.diagnostic(`died ${deaths - 1} times`);
    for (const { scene } of [clean, killed]) await scene.close();
  });
}
