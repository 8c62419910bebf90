import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../../../test/support/postgres.ts';
import { realWorld } from '../../../../app/world.ts';
import type { Grant, NewEntry, NewTask, Turn, TurnAnswer } from '../../../store.ts';
import { openPostgres } from '../../open.ts';
import type { PostgresStore } from '../../store.ts';

const STORES = 8;
const UNIT = 'tokens';
const ON = { go: 'on' } as const;
const END = { go: 'end', to: 'completed', reason: 'none' } as const;

interface Tree {
  readonly stores: readonly PostgresStore[];
  readonly client: pg.Client;
  readonly root: number;
  readonly claim: (store: PostgresStore, max: number) => Promise<readonly Grant[]>;
}

/** A root with ready children, stores with one connection each, and a trigger that counts changes and refuses too large ones. */
async function tree(t: TestContext, name: string, count: number, hard: number): Promise<Tree> {
  const url = await freshDatabase(name);
  const stores: PostgresStore[] = [];
  for (let i = 0; i < STORES; i++) {
    const store = await openPostgres({ url: `${url}&schema=b&pool=1`, world: realWorld() });
    t.after(() => store.close());
    stores.push(store);
  }
  const [store] = stores as [PostgresStore];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'h' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const item: NewTask = { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 9, payload: '{}' };
  const [pushed] = await store.taskPush({ items: [item] });
  assert.ok(pushed?.ok);
  const holder = await store.workerRegister({ name: 'w', incarnation: 'w', slots: count, tags: [] });
  const claim: Tree['claim'] = async (by, max) => {
    const [answer] = await by.taskClaim({
      claims: [{ holder, ttlMs: 600_000, max, lanes: [{ lane: item.lane, max }] }],
    });
    return answer?.grants ?? [];
  };
  const [parent] = await claim(store, 1);
  for (let from = 0; from < count; from += 250) {
    const some = Math.min(250, count - from);
    const entries = Array.from(
      { length: some },
      (_, i): NewEntry => ({ key: `${from + i}`, kind: 'child', task: item }),
    );
    const attempt = (parent as Grant).attempt;
    const [answer] = await store.taskTurn({ items: [{ task: pushed.task, attempt, entries, then: ON }] });
    assert.equal(answer?.kind, 'done');
  }
  await store.budgetSet({ root: pushed.task, unit: UNIT, hard });
  await client.query(`CREATE SEQUENCE b.counted;
    CREATE FUNCTION b.judge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM nextval('b.counted');
      IF NEW.taken > NEW.hard AND NEW.taken > OLD.taken THEN RAISE 'more is taken than there is'; END IF;
      RETURN NEW; END $$;
    CREATE TRIGGER judge BEFORE UPDATE ON b.budget FOR EACH ROW EXECUTE FUNCTION b.judge()`);
  return { stores, client, root: pushed.task, claim };
}

async function changes(client: pg.Client): Promise<number> {
  const { rows } = await client.query('SELECT last_value::int AS n FROM b.counted');
  return (rows[0] as { n: number }).n;
}

const entry = (key: string): readonly NewEntry[] => [{ key, kind: 'value', value: '1' }];

test('a thousand children on eight connections seldom change the row of their budget', async (t) => {
  const count = 1000;
  const draws = 8;
  const { stores, client, root, claim } = await tree(t, 'budget_many', count, 10_000_000);
  const work = async (store: PostgresStore): Promise<void> => {
    for (let grants = await claim(store, 25); grants.length > 0; grants = await claim(store, 25)) {
      for (let n = 0; n <= draws; n++) {
        const items = grants.map(({ task, attempt }): Turn => {
          const spend = n === 0 ? undefined : ([{ unit: UNIT, amount: 7 }] as const);
          if (n === draws) return { task, attempt, entries: entry('last'), spend, then: END };
          return { task, attempt, entries: entry(`${n}`), spend, draw: [{ unit: UNIT, amount: 10 }], then: ON };
        });
        const answers = await store.taskTurn({ items });
        assert.ok(answers.every((answer) => answer.kind === 'done' && answer.went === (n === draws ? 'ended' : 'on')));
      }
    }
  };
  await Promise.all(stores.map(work));
  const n = await changes(client);
  // Those of one flush draw together, and give back together.
  assert.ok(n < count / 4, `${n} changes for ${count * draws} draws`);
  const [budget] = await (stores[0] as PostgresStore).budgetGet({ root });
  assert.deepEqual([budget?.taken, budget?.spent], [count * draws * 7, count * draws * 7]);
});

test('on eight connections no more is taken than there is, and nobody waits while there is enough', async (t) => {
  const count = 120;
  const steps = 4;
  const most = 20;
  const hard = 1500;
  const { stores, client, root, claim } = await tree(t, 'budget_race', count, hard);
  let seed = 3;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (seed >> 8) % below;
  };
  let ended = 0;
  const run = async (store: PostgresStore, { task, attempt }: Grant): Promise<void> => {
    let spend: Turn['spend'];
    for (let n = 0; n < steps; n++) {
      const draw = [{ unit: UNIT, amount: most }] as const;
      const [answer] = await store.taskTurn({
        items: [{ task, attempt, entries: entry(`${attempt} ${n}`), spend, draw, then: ON }],
      });
      assert.ok(answer?.kind === 'done', JSON.stringify(answer));
      if (answer.went === 'parked') return;
      spend = [{ unit: UNIT, amount: random(most) }];
    }
    const [answer] = (await store.taskTurn({ items: [{ task, attempt, entries: [], spend, then: END }] })) as [
      TurnAnswer,
    ];
    assert.ok(answer.kind === 'done' && answer.went === 'ended', JSON.stringify(answer));
    ended++;
  };
  const work = async (store: PostgresStore): Promise<void> => {
    for (let grants = await claim(store, 3); grants.length > 0; grants = await claim(store, 3)) {
      await Promise.all(grants.map((grant) => run(store, grant)));
    }
  };
  // A worker that finds nothing may be overtaken by one that wakes others: so until none of them finds anything.
  const first = stores[0] as PostgresStore;
  const drain = async (): Promise<void> => {
    for (let before = -1; before !== (await first.taskList({ limit: 1000, states: ['ready'] })).length; ) {
      await Promise.all(stores.map(work));
      before = 0;
    }
  };
  await drain();
  const [stuck] = await first.budgetGet({ root });
  assert.ok(stuck);
  assert.equal(stuck.waiting, count - ended);
  assert.ok(stuck.waiting > 0, 'the budget is too large for this test');
  assert.equal(stuck.taken, stuck.spent, 'nobody runs');
  assert.ok(hard - stuck.taken < most, `${stuck.waiting} wait for ${most} while ${hard - stuck.taken} are left`);
  await first.budgetSet({ root, unit: UNIT, hard: 1_000_000 });
  await drain();
  assert.equal(ended, count);
  const { rows } = await client.query('SELECT sum(granted)::int AS granted FROM b.allowance WHERE root = $1', [root]);
  const [budget] = await first.budgetGet({ root });
  assert.deepEqual([budget?.taken, budget?.spent, budget?.waiting], [rows[0].granted, rows[0].granted, 0]);
});
