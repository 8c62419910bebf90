import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { realWorld } from '../../../../app/world.ts';
import { tempFolder } from '../../../conformance/kit/temp-folder.ts';
import type { Grant, NewEntry, Turn } from '../../../store.ts';
import { openSqlite } from '../../open.ts';

const folder = tempFolder('budgets');
const CHILDREN = 1000;
const DRAWS = 16;
const AT_ONCE = 250;

test('a thousand children that draw little by little seldom change the row of their budget', async (t) => {
  const file = join(folder, 'many.db');
  const store = await openSqlite({ file, world: realWorld() });
  t.after(() => store.close());
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'h' }] });
  const [spec] = await store.specIntern({ specs: ['{}'] });
  const item = { lane: lane?.id as number, spec: spec as number, priority: 0, maxTries: 1, payload: '{}' };
  const [pushed] = await store.taskPush({ items: [item] });
  assert.ok(pushed?.ok);
  const root = pushed.task;
  const holder = await store.workerRegister({ name: 'w', incarnation: 'w', slots: CHILDREN, tags: [] });
  const claim = async (max: number): Promise<readonly Grant[]> => {
    const [answer] = await store.taskClaim({
      claims: [{ holder, ttlMs: 600_000, max, lanes: [{ lane: item.lane, max }] }],
    });
    return answer?.grants ?? [];
  };
  const [parent] = await claim(1);
  for (let from = 0; from < CHILDREN; from += AT_ONCE) {
    const entries = Array.from(
      { length: AT_ONCE },
      (_, i): NewEntry => ({ key: `${from + i}`, kind: 'child', task: item }),
    );
    await store.taskTurn({ items: [{ task: root, attempt: (parent as Grant).attempt, entries, then: { go: 'on' } }] });
  }
  await store.budgetSet({ root, unit: 'tokens', hard: 10_000_000 });
  const db = new DatabaseSync(file);
  db.exec(`CREATE TABLE counted (n INTEGER); INSERT INTO counted VALUES (0);
    CREATE TRIGGER count_budgets AFTER UPDATE ON budget BEGIN UPDATE counted SET n = n + 1; END`);
  const children = await claim(CHILDREN);
  assert.equal(children.length, CHILDREN);
  for (let n = 0; n <= DRAWS; n++) {
    const items = children.map(({ task, attempt }): Turn => {
      const spend = n === 0 ? undefined : ([{ unit: 'tokens', amount: 7 }] as const);
      const entries: readonly NewEntry[] = [{ key: `${n}`, kind: 'value', value: '1' }];
      if (n === DRAWS) return { task, attempt, entries, spend, then: { go: 'end', to: 'completed', reason: 'none' } };
      return { task, attempt, entries, spend, draw: [{ unit: 'tokens', amount: 10 }], then: { go: 'on' } };
    });
    const answers = await store.taskTurn({ items });
    const went = n === DRAWS ? 'ended' : 'on';
    assert.ok(answers.every((answer) => answer.kind === 'done' && answer.went === went));
  }
  const { n } = db.prepare('SELECT n FROM counted').get() as { n: number };
  db.close();
  // One when its first draw takes more than it needs, and one when it gives back what is left.
  assert.ok(n <= 2 * CHILDREN, `${n} updates for ${DRAWS * CHILDREN} draws`);
  const [budget] = await store.budgetGet({ root });
  const spent = CHILDREN * DRAWS * 7;
  assert.deepEqual([budget?.taken, budget?.spent], [spent, spent]);
});
