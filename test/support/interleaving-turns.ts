/** Turns that meet others on the same rows: an effect comes with its entry, once, in whatever order their statements run. */
import type { Lease } from '../../src/core/task/lease.ts';
import { DAY, HOUR, type Scene } from '../../src/store/conformance/kit/scene.ts';
import { parkAll } from '../../src/store/conformance/kit/turning.ts';
import type { Grant, NewEntry, NewTask, RunPush, Then } from '../../src/store/store.ts';
import type { Act } from './interleaving.ts';
import {
  both,
  type Case,
  cancel,
  claim,
  ended,
  giveBack,
  graph,
  KEY,
  overdue,
  prune,
  reap,
  renew,
  revive,
  settle,
  twice,
  write,
} from './interleaving-verbs.ts';

const ON: Then = { go: 'on' };
const END: Then = { go: 'end', to: 'completed', reason: 'none', result: '"ended"' };
const BACK: Then = { go: 'back', change: 'retried', delayMs: 0, refund: false, bounced: false };

const turn = (name: string, { task, attempt }: Lease, entries: readonly NewEntry[], then: Then = ON): Act => ({
  name,
  act: (store) => store.taskTurn({ items: [{ task, attempt, entries, then }] }),
});

const value = (key = 'v', text = '1'): NewEntry => ({ key, kind: 'value', value: text });
const signal = (channel = 'c', body = '"told"'): NewEntry => ({ key: `s:${channel}`, kind: 'signal', channel, body });
const child = async (scene: Scene, key = 'a', more: Partial<NewTask> = {}): Promise<NewEntry> => {
  return { key, kind: 'child', task: await scene.draft({ queue: 'children', ...more }) };
};

/** A running task, and one that it bore. */
async function family(scene: Scene): Promise<{ readonly parent: Grant; readonly born: number }> {
  const parent = await scene.running();
  const { task, attempt } = parent;
  const [answer] = await scene.store.taskTurn({
    items: [{ task, attempt, entries: [await child(scene)], then: ON }],
  });
  const [entry] = answer?.kind === 'done' ? answer.entries : [];
  return { parent, born: entry?.kind === 'child' ? entry.task : 0 };
}

/** A tree that has ended, of a root and one member. */
async function oldTree(scene: Scene): Promise<{ readonly root: number; readonly member: number }> {
  const { parent, born } = await family(scene);
  await scene.settle(await scene.claimOne({ task: born }), 'failed', { reason: 'gave_up' });
  await scene.settle(parent, 'completed');
  await scene.push({ queue: 'young' });
  await scene.pass(HOUR);
  return { root: parent.task, member: born };
}

const waits = async (scene: Scene): Promise<void> => {
  const { task, attempt } = await scene.running({ queue: 'waiters' });
  await parkAll(scene.store, [{ task, attempt, key: 'k', channel: 'c' }]);
};

/** Each way in which a turn that bears, tells and remembers can go on. */
const WORDS: readonly (readonly [name: string, then: Then])[] = [
  ['goes on', ON],
  ['waits for its child', { go: 'park', key: 'w', children: ['a'] }],
  ['ends', END],
  ['is given back', BACK],
];

const PER_WORD: Readonly<Record<string, Case>> = Object.fromEntries(
  WORDS.flatMap(([name, then]): [string, Case][] => [
    [
      `a turn that ${name} × itself`,
      twice(async (scene) => {
        await waits(scene);
        const grant = await scene.running();
        const entries = [value(), await child(scene), signal()];
        return (who) => turn(who, grant, entries, then);
      }),
    ],
    [
      `a turn that ${name} × cancel`,
      both(
        async (scene) => {
          const grant = await scene.running();
          return [turn('turn', grant, [value(), await child(scene), signal()], then), cancel('cancel', grant.task)];
        },
        { vague: 'a repeat of what was done before the cancel finds its children, and says that it was asked to stop' },
      ),
    ],
    [
      `a turn that ${name} × reap`,
      both(async (scene) => {
        const { grant, duty } = await overdue(scene);
        return [turn('turn', grant, [value(), await child(scene), signal()], then), reap('reap', duty, grant)];
      }),
    ],
    [
      `a turn that ${name} × claim of its child`,
      both(async (scene) => {
        const grant = await scene.running();
        const act = turn('turn', grant, [await child(scene)], then);
        return [act, claim('claim', await scene.newWorker(), await scene.lane('children'))];
      }),
    ],
  ]),
);

export const TURNS: Readonly<Record<string, Case>> = {
  ...PER_WORD,
  'turn × turn of two tasks whose children have one key': both(async (scene) => {
    const [one, two] = [await scene.running(), await scene.running()];
    const entries = [await child(scene, 'a', { unique: KEY })];
    return [turn('one', one, entries), turn('two', two, entries, { go: 'park', key: 'w', children: ['a'] })];
  }),
  'turn × turn of two tasks whose children have one key with other inputs': both(async (scene) => {
    const [one, two] = [await scene.running(), await scene.running()];
    const other = [value(), await child(scene, 'a', { unique: { ...KEY, hash: 2 } })];
    return [turn('one', one, [value(), await child(scene, 'a', { unique: KEY })]), turn('two', two, other, END)];
  }),
  'turn × turn of two tasks that wait for each other’s child': both(async (scene) => {
    const [one, two] = [await family(scene), await family(scene)];
    const wait = (born: number): Then => ({ go: 'park', key: 'w', children: [born] });
    return [turn('one', one.parent, [value()], wait(two.born)), turn('two', two.parent, [value()], wait(one.born))];
  }),
  'turn × settle': both(async (scene) => {
    const grant = await scene.running();
    return [turn('turn', grant, [value(), await child(scene)]), settle('settle', grant)];
  }),
  'turn that ends × return': both(async (scene) => {
    const grant = await scene.running();
    return [turn('turn', grant, [value()], END), giveBack('return', grant)];
  }),
  'turn that ends × renew': both(async (scene) => {
    const grant = await scene.running();
    return [turn('turn', grant, [value()], END), renew(grant)];
  }),
  'turn that ends × log': both(async (scene) => {
    const grant = await scene.running();
    return [turn('turn', grant, [value()], END), write('log', grant)];
  }),
  'turn that remembers × turn that ends': both(async (scene) => {
    const grant = await scene.running();
    return [turn('remember', grant, [value('a')]), turn('end', grant, [value('b')], END)];
  }),
  'turn that waits for a child × its end': both(
    async (scene) => {
      const { parent, born } = await family(scene);
      const act = turn('turn', parent, [value()], { go: 'park', key: 'w', children: [born] });
      return [act, settle('settle', await scene.claimOne({ task: born }))];
    },
    {
      vague:
        'a first sending may have found that somebody waits for it, and done nothing: its repeat is then the first',
    },
  ),
  'turn whose child waits for another one × its end': both(
    async (scene) => {
      const { parent, born } = await family(scene);
      const next = { ...(await child(scene, 'b')), after: [{ task: born, optional: false }] } as NewEntry;
      const act = turn('turn', parent, [next], { go: 'park', key: 'w', children: ['b'] });
      return [act, settle('settle', await scene.claimOne({ task: born }))];
    },
    {
      vague:
        'a first sending may have found that somebody waits for it, and done nothing: its repeat is then the first',
    },
  ),
  'turn that waits for a child × its cancellation': both(async (scene) => {
    const { parent, born } = await family(scene);
    return [turn('turn', parent, [value()], { go: 'park', key: 'w', children: [born] }), cancel('cancel', born)];
  }),
  'turn that waits for a child × its revival': both(async (scene) => {
    const { parent, born } = await family(scene);
    await scene.settle(await scene.claimOne({ task: born }), 'failed', { reason: 'gave_up' });
    return [turn('turn', parent, [value()], { go: 'park', key: 'w', children: [born] }), revive('revive', born)];
  }),
  'turn that waits on a channel × signal': both(async (scene) => {
    const grant = await scene.running();
    return [
      turn('turn', grant, [value()], { go: 'park', key: 'w', channel: 'c' }),
      { name: 'signal', act: (store) => store.signalSend({ items: [{ channel: 'c', body: '1' }] }) },
    ];
  }),
  'turn that tells × turn that waits to be told': both(async (scene) => {
    const [one, two] = [await scene.running(), await scene.running()];
    return [turn('tell', one, [signal()], END), turn('wait', two, [value()], { go: 'park', key: 'w', channel: 'c' })];
  }),
  'turn that tells × turn that tells back, each waiting for the other': both(async (scene) => {
    const [one, two] = [await scene.running(), await scene.running()];
    return [
      turn('one', one, [signal('a')], { go: 'park', key: 'w', channel: 'b' }),
      turn('two', two, [signal('b')], { go: 'park', key: 'w', channel: 'a' }),
    ];
  }),
  'turn of a member × prune': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { parent, born } = await family(scene);
      await scene.settle(parent, 'completed');
      const grant = await scene.claimOne({ task: born });
      await scene.pass(HOUR);
      return [turn('turn', grant, [await child(scene)], END), prune('prune', duty, 4)];
    },
    { forgets: true },
  ),
  'end of the last member × prune of its tree': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { parent, born } = await family(scene);
      await scene.settle(parent, 'completed');
      const grant = await scene.claimOne({ task: born });
      await scene.pass(HOUR);
      return [settle('settle', grant), prune('prune', duty, 4)];
    },
    { forgets: true },
  ),
  'prune of a tree × revival of a member': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { member } = await oldTree(scene);
      return [prune('prune', duty, 4), revive('revive', member)];
    },
    { forgets: true, faults: [1] },
  ),
  'prune of a tree × revival of its root': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { root } = await oldTree(scene);
      return [prune('prune', duty, 4), revive('revive', root)];
    },
    { forgets: true, faults: [1] },
  ),
  'prune of a tree × revival of all of it': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { root, member } = await oldTree(scene);
      const tasks = [member, root];
      const forget = [{ task: root, key: 'none' }];
      return [prune('prune', duty, 4), { name: 'revive', act: (store) => store.taskRevive({ tasks, forget }) }];
    },
    { forgets: true, faults: [1] },
  ),
  'prune of a tree × a task that will need a member': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { member } = await oldTree(scene);
      return [prune('prune', duty, 4), graph('push', await scene.draft({ queue: 'late' }), [member], 'run')];
    },
    { forgets: true, faults: [1] },
  ),
  'prune × a task that will need what is pruned': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      const { task } = await ended(scene);
      await scene.push({ queue: 'young' });
      await scene.pass(HOUR);
      return [prune('prune', duty, 4), graph('push', await scene.draft({ queue: 'late' }), [task], 'run')];
    },
    { forgets: true, faults: [1] },
  ),
  'birth × cancel × end': both(
    async (scene) => {
      const grant = await scene.running();
      return [
        turn('turn', grant, [value(), await child(scene)]),
        cancel('cancel', grant.task),
        settle('settle', grant),
      ];
    },
    { faults: [] },
  ),
  'birth × birth of one key × cancel': both(
    async (scene) => {
      const grant = await scene.running();
      const entries = [await child(scene)];
      return [turn('one', grant, entries), turn('two', grant, entries), cancel('cancel', grant.task)];
    },
    { faults: [] },
  ),
};

/** Runs that are started at the same time, and beside what changes them. */

const RUN = { kind: 'machine', title: 't', fingerprint: 'f' };
const TEXT = { hash: 'h', kind: 'machine', body: '{}' };

const start = (name: string, task: NewTask, run: { readonly name?: string; readonly definition?: string }): Act => ({
  name,
  act: async (store) => {
    const definition = run.definition === undefined ? undefined : TEXT;
    const [answer] = await store.runPush({ runs: [{ task, run: { ...RUN, ...run }, definition }] });
    return answer?.kind;
  },
});

/** Several in one flush, of one new definition. */
const startAll = (name: string, task: NewTask, names: readonly string[]): Act => ({
  name,
  act: async (store) => {
    const run = (one: string): RunPush => ({ task, run: { ...RUN, name: one, definition: 'h' }, definition: TEXT });
    return (await store.runPush({ runs: names.map(run) })).map(({ kind }) => kind);
  },
});

/** A run that has failed, with its name. */
async function failed(scene: Scene): Promise<number> {
  const [answer] = await scene.store.runPush({ runs: [{ task: await scene.draft(), run: { ...RUN, name: 'a' } }] });
  const task = answer?.kind === 'made' ? answer.task : 0;
  await scene.settle(await scene.claimOne({ task }), 'failed', { reason: 'gave_up' });
  return task;
}

export const RUNS: Readonly<Record<string, Case>> = {
  'start × start of one name': twice(async (scene) => {
    const item = await scene.draft();
    return (name) => start(name, item, { name: 'a' });
  }),
  'start × start of one new definition': twice(async (scene) => {
    const item = await scene.draft();
    return (name) => start(name, item, { name, definition: 'h' });
  }),
  'flush × flush of the same names in another order': both(async (scene) => {
    const item = await scene.draft();
    return [startAll('one', item, ['a', 'b']), startAll('other', item, ['b', 'a'])];
  }),
  'start × prune of the run that had its name': both(
    async (scene) => {
      const duty = await scene.duty('any', DAY);
      await failed(scene);
      await scene.pass(HOUR);
      return [start('start', await scene.draft(), { name: 'a' }), prune('prune', duty, 1)];
    },
    { forgets: true },
  ),
  'note × cancel × revive of a run': both(async (scene) => {
    const task = await failed(scene);
    await scene.store.taskRevive({ tasks: [task] });
    const note: Act = { name: 'note', act: (store) => store.runNoteCancel({ task, why: 'w' }) };
    return [note, cancel('cancel', task), revive('revive', task)];
  }),
};
