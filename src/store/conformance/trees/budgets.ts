import assert from 'node:assert/strict';
import type { Amount, Spending } from '../../../core/limits/budget.ts';
import type { Lease } from '../../../core/task/lease.ts';
import type { BudgetRecord, Grant, NewEntry, Store, Then, Turn, TurnAnswer } from '../../store.ts';
import { DAY, HOUR, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';
import { COMPLETE, did, ON, plainly, STORED, signal, turn, value } from './turns.ts';

const tokens = (amount: number): readonly Amount[] => [{ unit: 'tokens', amount }];
const used = (amount: number, drawn?: number): readonly Spending[] => [
  { unit: 'tokens', amount, ...(drawn === undefined ? {} : { drawn }) },
];
const LOST: TurnAnswer = { kind: 'lost' };
const waits = (entries: Parameters<typeof did>[1] = []): object => did('parked', entries, { budget: { waits: true } });

let keys = 0;
/** A turn of its own: a draw needs an entry, by which a repeat is known. */
function draw(scene: Scene, lease: Lease, amount: number, more: Partial<Turn> = {}): Promise<TurnAnswer> {
  return turn(scene, lease, [value(`draw ${keys++}`)], ON, { draw: tokens(amount), ...more });
}

async function budgetOf({ store }: Scene, root: number): Promise<BudgetRecord> {
  const [record] = await store.budgetGet({ root });
  assert.ok(record, 'there is no budget');
  return record;
}

const shown = async (scene: Scene, root: number): Promise<string> => {
  const { taken, spent, waiting } = await budgetOf(scene, root);
  return `${taken} taken, ${spent} spent, ${waiting} waiting`;
};

/** A running root with a budget of tokens. */
async function root(scene: Scene, hard: number | undefined, soft?: number): Promise<Grant> {
  const grant = await scene.running();
  assert.ok(await scene.store.budgetSet({ root: grant.task, unit: 'tokens', hard, soft }));
  return grant;
}

/** Running children of a running task. */
async function bear(scene: Scene, parent: Lease, count: number): Promise<readonly Grant[]> {
  const task = await scene.draft({ queue: 'children' });
  const entries = Array.from(
    { length: count },
    (_, i): NewEntry => ({ key: `child ${keys++} ${i}`, kind: 'child', task }),
  );
  assert.equal((await turn(scene, parent, entries)).kind, 'done');
  const grants = await scene.claim({ lanes: [task.lane], max: count });
  assert.equal(grants.length, count);
  return grants;
}

/**
 * Each way out of `running`, and what is spent of 10 that were reserved, after 3 that were used: all of them, unless the task completes, waits, or
 * says what its calls have used.
 */
const ENDS: readonly (readonly [name: string, spent: number, act: (scene: Scene, grant: Grant) => Promise<unknown>])[] =
  [
    ['completes', 3, (scene, grant) => scene.settle(grant, 'completed')],
    ['fails', 13, (scene, grant) => scene.settle(grant, 'failed', { reason: 'gave_up', result: '"no"' })],
    ['is given back', 13, (scene, grant) => scene.giveBack(grant)],
    ['is given back for later', 13, (scene, grant) => scene.giveBack(grant, { delayMs: 5, change: 'released' })],
    [
      'is given back when it was asked to stop',
      13,
      async (scene, grant) => {
        await scene.store.taskCancel({ tasks: [grant.task] });
        assert.equal(await scene.giveBack(grant), 'cancelled');
      },
    ],
    ['is cancelled', 13, (scene, grant) => scene.settle(grant, 'cancelled', { reason: 'requested' })],
    ['ends in a turn', 3, (scene, grant) => turn(scene, grant, [value('last')], COMPLETE)],
    [
      'ends in a turn that has spent',
      8,
      (scene, grant) => turn(scene, grant, [value('last')], COMPLETE, { spend: used(5) }),
    ],
    [
      'ends in a turn that has spent more than it drew',
      1003,
      (scene, grant) => turn(scene, grant, [value('last')], COMPLETE, { spend: used(1000) }),
    ],
    ['goes back in a turn', 13, (scene, grant) => turn(scene, grant, [], { ...BACK })],
    [
      'goes back in a turn that has spent',
      5,
      (scene, grant) => turn(scene, grant, [value('last')], { ...BACK }, { spend: used(2) }),
    ],
    ['waits on a channel', 3, (scene, grant) => turn(scene, grant, [], { go: 'park', key: 'w', channel: 'c' })],
    ['waits for its time', 3, (scene, grant) => turn(scene, grant, [], { go: 'park', key: 'w', timeoutMs: HOUR })],
    [
      'waits, and has spent',
      7,
      (scene, grant) => turn(scene, grant, [value('last')], { go: 'park', key: 'w', channel: 'c' }, { spend: used(4) }),
    ],
    [
      'waits when it was asked to stop',
      13,
      async (scene, grant) => {
        await scene.store.taskCancel({ tasks: [grant.task] });
        assert.deepEqual(
          plainly(await turn(scene, grant, [], { go: 'park', key: 'w', timeoutMs: 5 })),
          did('cancelled', [], { cancelRequested: true }),
        );
      },
    ],
    ...(['again', 'failed', 'cancelled'] as const).map(
      (to) =>
        [
          `loses its lease and ${to === 'again' ? 'runs again' : `is ${to}`}: what was reserved counts as spent`,
          13,
          async (scene: Scene) => {
            const duty = await scene.duty('reaper', DAY);
            await scene.pass(TTL + 1);
            assert.ok((await scene.reap(duty, to)) > 0);
          },
        ] as const,
    ),
  ];
const BACK: Then = { go: 'back', change: 'retried', delayMs: 0, refund: false, bounced: false, error: '"bad"' };

export const BUDGETS: Topic = {
  name: 'budgets',
  needs: ['whole'],
  cases: {
    'a budget is set and read by its root, changed in parts, and refused for others': async (scene) => {
      const grant = await scene.running();
      const { task } = grant;
      assert.deepEqual(await scene.store.budgetGet({ root: task }), []);
      const none = { taken: 0, spent: 0, waiting: 0 };
      const set = (more: object): Promise<BudgetRecord | undefined> =>
        scene.store.budgetSet({ root: task, unit: 'money', ...more });
      assert.deepEqual(await set({ hard: 5 }), { unit: 'money', soft: undefined, hard: 5, ...none });
      assert.deepEqual(await set({ soft: 3 }), { unit: 'money', soft: 3, hard: 5, ...none });
      assert.deepEqual(await set({ hard: null }), { unit: 'money', soft: 3, hard: undefined, ...none });
      await scene.store.budgetSet({ root: task, unit: 'tokens', hard: 2 ** 53 - 1 });
      assert.deepEqual(await scene.store.budgetGet({ root: task }), [
        { unit: 'tokens', soft: undefined, hard: 2 ** 53 - 1, ...none },
        { unit: 'money', soft: 3, hard: undefined, ...none },
      ]);
      const [child] = await bear(scene, grant, 1);
      assert.equal(await scene.store.budgetSet({ root: child?.task as number, unit: 'ms', hard: 1 }), undefined);
      assert.equal(await scene.store.budgetSet({ root: 999_999, unit: 'ms', hard: 1 }), undefined);
      await scene.settle(grant, 'completed');
      assert.ok(await set({ hard: 9 }), 'its members may still run');
    },

    'a draw is granted up to the hard bound': async (scene) => {
      for (const amount of [99, 100]) {
        const grant = await root(scene, 100);
        assert.deepEqual(plainly(await draw(scene, grant, amount)), did('on', [STORED], { budget: {} }));
        assert.equal(await shown(scene, grant.task), `${amount} taken, 0 spent, 0 waiting`);
        assert.equal((await scene.get(grant.task)).state, 'running');
      }
    },

    'a draw beyond the hard bound parks its task, with all that the turn says, and a raise wakes it': async (scene) => {
      const grant = await root(scene, 100);
      const entries = [value('a'), signal('s', 'elsewhere')];
      const send = (): Promise<TurnAnswer> => turn(scene, grant, entries, ON, { draw: tokens(101) });
      assert.deepEqual(plainly(await send()), waits([STORED, STORED]));
      assert.equal(await shown(scene, grant.task), '0 taken, 0 spent, 1 waiting');
      assert.deepEqual(plainly(await scene.unchanged(send)), waits([STORED, STORED]), 'and so does a repeat');
      const wait = await scene.store.waitGet({ task: grant.task });
      assert.deepEqual([wait?.key, wait?.channel], ['budget:tokens', `budget:${grant.task}`]);
      const { state, tries } = await scene.get(grant.task);
      assert.deepEqual([state, tries], ['waiting', 0]);
      assert.deepEqual(await scene.unchanged(() => draw(scene, grant, 1)), LOST);
      await scene.store.budgetSet({ root: grant.task, unit: 'tokens', hard: 101 });
      const next = await scene.claimOne();
      assert.equal(next.task, grant.task);
      assert.equal((await scene.store.journalList({ task: grant.task })).length, 2);
      assert.deepEqual(plainly(await draw(scene, next, 101)), did('on', [STORED], { budget: {} }));
      assert.equal(await shown(scene, grant.task), '101 taken, 0 spent, 0 waiting');
    },

    'a refused draw with children bears them, and they share the budget': async (scene) => {
      const grant = await root(scene, 10);
      const task = await scene.draft({ queue: 'children' });
      const entries: readonly NewEntry[] = [value('a'), { key: 'c', kind: 'child', task }];
      const answer = await turn(scene, grant, entries, ON, { draw: tokens(11) });
      assert.ok(answer.kind === 'done' && answer.went === 'parked' && answer.budget?.waits);
      const child = await scene.claimOne({ lanes: [task.lane] });
      assert.deepEqual(plainly(await draw(scene, child, 10)), did('on', [STORED], { budget: {} }));
      assert.equal(await shown(scene, grant.task), '10 taken, 0 spent, 1 waiting');
    },

    'a signal that was sent to the channel before does not spare a refused draw its wait': async (scene) => {
      const grant = await root(scene, 1);
      const channel = `budget:${grant.task}`;
      await scene.store.signalSend({ items: [{ channel, body: '1', broadcast: false }] });
      assert.deepEqual(plainly(await draw(scene, grant, 2)), waits([STORED]));
    },

    'a draw without a budget, or in a unit that has none, is free': async (scene) => {
      const free = await scene.running();
      assert.deepEqual(plainly(await draw(scene, free, 2 ** 53 - 1)), did('on', [STORED]));
      assert.deepEqual(await scene.store.budgetGet({ root: free.task }), []);
      const grant = await root(scene, 1);
      const money = [{ unit: 'money', amount: 5 }] as const;
      assert.deepEqual(
        plainly(await turn(scene, grant, [value('m')], ON, { draw: money, spend: money })),
        did('on', [STORED], { budget: {} }),
      );
      assert.equal(await shown(scene, grant.task), '0 taken, 0 spent, 0 waiting');
    },

    'what is used settles what was reserved for it, and the rest can be drawn again': async (scene) => {
      const grant = await root(scene, 100);
      await draw(scene, grant, 60);
      assert.equal((await draw(scene, grant, 40)).kind, 'done');
      assert.equal(await shown(scene, grant.task), '100 taken, 0 spent, 0 waiting');
      await turn(scene, grant, [value('first')], ON, { spend: used(10, 60) });
      assert.equal(await shown(scene, grant.task), '100 taken, 10 spent, 0 waiting');
      assert.deepEqual(
        plainly(await draw(scene, grant, 85, { spend: used(5) })),
        did('on', [STORED], { budget: {} }),
        'of one turn, what was used comes first',
      );
      assert.deepEqual(plainly(await draw(scene, grant, 100, { spend: used(5) })), waits([STORED]));
      assert.equal(await shown(scene, grant.task), '20 taken, 20 spent, 1 waiting');
    },

    'what is still reserved for other calls counts as spent where a draw is refused: they are cut off': async (
      scene,
    ) => {
      const grant = await root(scene, 100);
      await draw(scene, grant, 20);
      await draw(scene, grant, 30);
      await turn(scene, grant, [value('first')], ON, { spend: used(10, 20) });
      assert.deepEqual(plainly(await draw(scene, grant, 70)), waits([STORED]));
      assert.equal(await shown(scene, grant.task), '40 taken, 40 spent, 1 waiting');
    },

    'a cost beyond what was reserved is counted, even beyond the hard bound': async (scene) => {
      const grant = await root(scene, 10);
      await draw(scene, grant, 10);
      await turn(scene, grant, [value('dear')], ON, { spend: used(13) });
      assert.equal(await shown(scene, grant.task), '13 taken, 13 spent, 0 waiting');
      assert.deepEqual(plainly(await draw(scene, grant, 1)), waits([STORED]));
    },

    'a turn that is repeated draws and spends once; another attempt is no repeat': async (scene) => {
      const grant = await root(scene, 100);
      const both = { draw: tokens(20), spend: used(5) };
      const send = (lease: Lease): Promise<TurnAnswer> => turn(scene, lease, [value('a'), value('b')], ON, both);
      await send(grant);
      const before = await shown(scene, grant.task);
      assert.equal(before, '25 taken, 5 spent, 0 waiting');
      assert.deepEqual(plainly(await send(grant)), did('on', [STORED, STORED], { budget: {} }));
      assert.equal(await shown(scene, grant.task), before);
      await scene.giveBack(grant);
      await send(await scene.claimOne());
      assert.equal(await shown(scene, grant.task), '50 taken, 30 spent, 0 waiting');
    },

    'a stale draw is refused, and nothing is written': async (scene) => {
      const grant = await root(scene, 100);
      const stale = { ...grant, attempt: grant.attempt + 1 };
      assert.deepEqual(await scene.unchanged(() => draw(scene, stale, 5, { spend: used(5) })), LOST);
      assert.deepEqual(await scene.unchanged(() => draw(scene, stale, 500)), LOST);
      const ending = (): Promise<TurnAnswer> => turn(scene, stale, [value('x')], COMPLETE, { spend: used(5) });
      assert.deepEqual(await scene.unchanged(ending), LOST);
      assert.equal(await shown(scene, grant.task), '0 taken, 0 spent, 0 waiting');
    },

    ...Object.fromEntries(
      ENDS.map(([name, spent, act]) => [
        `what was granted and not spent is given back when its task ${name}`,
        async (scene: Scene) => {
          const parent = await root(scene, 1_000_000);
          const [child] = await bear(scene, parent, 1);
          assert.ok(child);
          await draw(scene, child, 5);
          await turn(scene, child, [value('used')], ON, { draw: tokens(10), spend: used(3) });
          const before = await budgetOf(scene, parent.task);
          assert.equal(before.spent, 3);
          assert.ok(before.taken > 13, 'more than it asked for was granted');
          await act(scene, child);
          assert.notEqual((await scene.get(child.task)).state, 'running');
          assert.equal(await shown(scene, parent.task), `${spent} taken, ${spent} spent, 0 waiting`);
        },
      ]),
    ),

    'what a task gives back wakes those that wait for it': async (scene) => {
      const parent = await root(scene, 100);
      const [a, b, c] = await bear(scene, parent, 3);
      assert.ok(a && b && c);
      await draw(scene, a, 100);
      for (const one of [b, c]) assert.deepEqual(plainly(await draw(scene, one, 50)), waits([STORED]));
      assert.equal(await shown(scene, parent.task), '100 taken, 0 spent, 2 waiting');
      await scene.settle(a, 'completed');
      assert.equal(await shown(scene, parent.task), '0 taken, 0 spent, 0 waiting');
      const lanes = [await scene.lane('children')];
      const next = await scene.claim({ lanes, max: 5 });
      assert.deepEqual(
        next.map(({ task }) => task),
        [b.task, c.task],
      );
      for (const one of next) assert.equal((await draw(scene, one, 50)).kind, 'done');
      assert.equal(await shown(scene, parent.task), '100 taken, 0 spent, 0 waiting');
    },

    'what a lost lease gives back wakes those that wait for it': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const parent = await root(scene, 1000);
      const [a, b] = await bear(scene, parent, 2);
      assert.ok(a && b);
      await draw(scene, a, 600);
      assert.equal(await shown(scene, parent.task), '600 taken, 0 spent, 0 waiting');
      assert.deepEqual(plainly(await draw(scene, b, 401)), waits([STORED]));
      await turn(scene, a, [value('less')], ON, { spend: used(1), draw: tokens(10) });
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      assert.equal(await shown(scene, parent.task), '11 taken, 11 spent, 0 waiting');
      assert.equal((await scene.get(b.task)).state, 'ready');
    },

    'a bound below what is taken stops further draws, and nothing else': async (scene) => {
      const grant = await root(scene, 100);
      await draw(scene, grant, 60);
      await scene.store.budgetSet({ root: grant.task, unit: 'tokens', hard: 10 });
      await turn(scene, grant, [value('used')], ON, { spend: used(60) });
      assert.deepEqual(plainly(await draw(scene, grant, 1)), waits([STORED]));
      assert.equal(await shown(scene, grant.task), '60 taken, 60 spent, 1 waiting');
    },

    'draws of several units are granted together or not at all': async (scene) => {
      const grant = await root(scene, 1000);
      await scene.store.budgetSet({ root: grant.task, unit: 'calls', hard: 1 });
      const both = [...tokens(5), { unit: 'calls', amount: 1 }] as const;
      assert.equal((await turn(scene, grant, [value('a')], ON, { draw: both })).kind, 'done');
      const again = { draw: both, spend: used(0) };
      assert.deepEqual(plainly(await turn(scene, grant, [value('b')], ON, again)), waits([STORED]));
      const records = await scene.store.budgetGet({ root: grant.task });
      assert.deepEqual(
        records.map(({ unit, taken, waiting }) => [unit, taken, waiting]),
        [
          ['tokens', 0, 0],
          ['calls', 1, 1],
        ],
      );
    },

    'a task that was asked to stop ends where it would wait for its budget': async (scene) => {
      const grant = await root(scene, 1);
      await scene.store.taskCancel({ tasks: [grant.task] });
      assert.equal(((await draw(scene, grant, 1)) as { went?: string }).went, 'on', 'it may still draw');
      const answer = await draw(scene, grant, 2, { spend: used(0) });
      assert.ok(answer.kind === 'done');
      assert.deepEqual([answer.went, answer.cancelRequested], ['cancelled', true]);
      assert.equal((await scene.get(grant.task)).state, 'cancelled');
      assert.equal((await scene.store.journalList({ task: grant.task })).length, 2, 'what it wrote is kept');
      assert.equal(await shown(scene, grant.task), '0 taken, 0 spent, 0 waiting');
    },

    'a soft bound is told of once, and all turns after it hear of it': async (scene) => {
      const grant = await root(scene, undefined, 20);
      const told = async (): Promise<number> =>
        (await scene.look()).events.filter(({ change }) => change === 'budget_warned').length;
      const soft = did('on', [STORED], { budget: { soft: true } });
      await scene.store.budgetSet({ root: grant.task, unit: 'tokens', hard: 100 });
      assert.deepEqual(plainly(await draw(scene, grant, 19)), did('on', [STORED], { budget: {} }));
      assert.equal(await told(), 0);
      assert.deepEqual(plainly(await draw(scene, grant, 1)), soft);
      const { events } = await scene.look();
      const { change, task, state, attempt } = events.at(-1) as (typeof events)[number];
      assert.deepEqual([change, task, state, attempt], ['budget_warned', grant.task, 'running', 1]);
      assert.deepEqual(plainly(await draw(scene, grant, 5)), soft);
      assert.deepEqual(plainly(await turn(scene, grant, [value('u')], ON, { spend: used(1) })), soft);
      assert.equal(await told(), 1);
      await scene.store.budgetSet({ root: grant.task, unit: 'tokens', soft: 40 });
      assert.deepEqual(plainly(await draw(scene, grant, 5)), did('on', [STORED], { budget: {} }), 'it was raised');
      assert.deepEqual(plainly(await turn(scene, grant, [value('v')], ON, { spend: used(45) })), soft);
      assert.equal(await told(), 2);
      await scene.settle(grant, 'completed');
    },

    'what a task has spent stays counted when it runs again': async (scene) => {
      const grant = await root(scene, 100);
      await draw(scene, grant, 50);
      await turn(scene, grant, [value('u')], COMPLETE, { spend: used(40) });
      await scene.store.taskRevive({ tasks: [grant.task] });
      const next = await scene.claimOne();
      assert.equal(await shown(scene, grant.task), '40 taken, 40 spent, 0 waiting');
      assert.deepEqual(plainly(await draw(scene, next, 61)), waits([STORED]));
      await scene.store.taskCancel({ tasks: [grant.task] });
      assert.equal(await shown(scene, grant.task), '40 taken, 40 spent, 0 waiting');
    },

    'a task that is woken in vain waits again': async (scene) => {
      const grant = await root(scene, 10);
      await draw(scene, grant, 11);
      await scene.store.budgetSet({ root: grant.task, unit: 'tokens', hard: 5 });
      const next = await scene.claimOne();
      assert.deepEqual(plainly(await draw(scene, next, 11)), waits([STORED]));
      await scene.store.budgetSet({ root: grant.task, unit: 'tokens', hard: 11 });
      assert.deepEqual(plainly(await draw(scene, await scene.claimOne(), 11)), did('on', [STORED], { budget: {} }));
    },

    'budgets go with their tree': async (scene) => {
      const duty = await scene.duty('pruner', DAY);
      const parent = await root(scene, 100);
      const [child] = await bear(scene, parent, 1);
      await draw(scene, child as Grant, 5);
      await scene.settle(child as Grant, 'completed');
      await scene.settle(parent, 'completed');
      await scene.push();
      await scene.pass(2 * HOUR);
      assert.ok((await scene.store.budgetGet({ root: parent.task })).length > 0);
      await scene.prune(duty, HOUR);
      assert.deepEqual(await scene.store.taskGet({ tasks: [parent.task] }), [undefined]);
      assert.deepEqual(await scene.store.budgetGet({ root: parent.task }), []);
    },

    'many tasks that draw, use and end at once never take more than the hard bound, and the books agree': async (
      scene,
    ) => {
      const hard = 300;
      const parent = await root(scene, hard);
      const children = await bear(scene, parent, 24);
      let seed = 5;
      const random = (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return (seed >> 8) % below;
      };
      const spent = new Map<number, number>();
      let running = [...children];
      for (let round = 0; round < 12 && running.length > 0; round++) {
        const items = running.map(({ task, attempt }, i): Turn => {
          const use = random(4);
          spent.set(task, (spent.get(task) ?? 0) + (round === 0 ? 0 : use));
          const entries = [value(`round ${round}`)];
          const spend = round === 0 ? undefined : used(use);
          if (i % 7 === 6) return { task, attempt, entries, spend, then: COMPLETE };
          return { task, attempt, entries, spend, draw: tokens(4 + random(9)), then: ON };
        });
        const answers = await scene.store.taskTurn({ items });
        running = running.filter((_, i) => {
          const answer = answers[i] as TurnAnswer;
          assert.ok(answer.kind === 'done');
          return answer.went === 'on';
        });
        const record = await budgetOf(scene, parent.task);
        assert.ok(record.taken <= hard, `${record.taken} are taken`);
        assert.equal(
          record.spent,
          [...spent.values()].reduce((sum, one) => sum + one, 0),
        );
      }
      await Promise.all(running.map((one) => scene.settle(one, 'completed')));
      const { taken, spent: used_ } = await budgetOf(scene, parent.task);
      assert.equal(taken, used_, 'nobody runs any more');
    },

    'several processes that draw at once never take more than the hard bound': async (scene) => {
      const hard = 200;
      const parent = await root(scene, hard);
      const children = await bear(scene, parent, 40);
      const stores: Store[] = [scene.store];
      if (scene.store.capabilities.shared) stores.push(await scene.reopen(), await scene.reopen());
      const answers = await Promise.all(
        children.map(({ task, attempt }, i) =>
          (stores[i % stores.length] as Store).taskTurn({
            items: [{ task, attempt, entries: [value('a')], draw: tokens(9), then: ON }],
          }),
        ),
      );
      const granted = answers.filter(([answer]) => answer?.kind === 'done' && answer.went === 'on').length;
      assert.equal(granted, Math.floor(hard / 9));
      assert.equal(await shown(scene, parent.task), `${granted * 9} taken, 0 spent, ${40 - granted} waiting`);
    },
  },
};
