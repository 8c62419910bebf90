import assert from 'node:assert/strict';
import { type Change, isLegal, STATES, type TaskState, TRANSITIONS } from '../../../core/task/task.ts';
import type { DutyTenure } from '../../store.ts';
import { DAY, HOUR, type Scene, TTL } from '../kit/scene.ts';
import type { Run, Topic } from '../kit/topic.ts';
import { park } from '../trees/parks.ts';

interface Subject {
  readonly task: number;
  readonly attempt: number;
  readonly lane: number;
}

interface Verb {
  /** As in "a ready task can …". */
  readonly words: string;
  readonly change: (from: TaskState) => Change;
  readonly to: TaskState;
  /** The states of the rule that this verb reaches. Other verbs reach the others. */
  readonly only?: readonly TaskState[];
  readonly act: (scene: Scene, subject: Subject, duty: DutyTenure) => Promise<unknown>;
}

/** With a wait timeout that passes as soon as time does. From the first claim on it must not matter. */
const PUSH = { waitTimeoutMs: 1 };

/** Every task has had its attempt 1, so that an illegal write fails by the state alone and not by a wrong attempt. */
const WAYS: Readonly<Record<TaskState, (scene: Scene) => Promise<Subject>>> = {
  running: (scene) => scene.running(PUSH),
  ready: async (scene) => {
    const grant = await scene.running(PUSH);
    assert.equal(await scene.giveBack(grant, { change: 'released', refund: true }), 'done');
    return grant;
  },
  scheduled: async (scene) => {
    const grant = await scene.running(PUSH);
    assert.equal(await scene.giveBack(grant, { change: 'released', refund: true, delayMs: HOUR }), 'done');
    return grant;
  },
  waiting: async (scene) => {
    const grant = await scene.running(PUSH);
    assert.deepEqual(await park(scene, grant, { channel: 'c' }), { kind: 'parked' });
    return grant;
  },
  completed: (scene) => ended(scene, 'completed'),
  failed: (scene) => ended(scene, 'failed'),
  cancelled: (scene) => ended(scene, 'cancelled'),
};

async function ended(scene: Scene, to: 'completed' | 'failed' | 'cancelled'): Promise<Subject> {
  const grant = await scene.running(PUSH);
  assert.equal(await scene.settle(grant, to), 'done');
  return grant;
}

const reap =
  (to: 'again' | 'failed' | 'cancelled', delayMs: number): Verb['act'] =>
  async (scene, { task, attempt }, duty) => {
    await scene.pass(TTL + 1);
    return scene.store.leaseReap({ duty, items: [{ task, attempt, to, reason: 'none', delayMs }] });
  };

const always = (change: Change) => (): Change => change;

const VERBS: readonly Verb[] = [
  {
    words: 'be claimed',
    change: always('claimed'),
    to: 'running',
    act: (scene, { lane }) => scene.claim({ lanes: [lane], max: 10 }),
  },
  {
    words: 'be completed',
    change: always('completed'),
    to: 'completed',
    act: (scene, subject) => scene.settle(subject, 'completed', { result: '1' }),
  },
  {
    words: 'fail for good',
    change: always('failed'),
    to: 'failed',
    only: ['running'],
    act: (scene, subject) => scene.settle(subject, 'failed', { reason: 'gave_up', result: '1' }),
  },
  {
    words: 'be cancelled by its worker',
    change: always('cancelled'),
    to: 'cancelled',
    only: ['running'],
    act: (scene, subject) => scene.settle(subject, 'cancelled', { reason: 'requested' }),
  },
  {
    words: 'be cancelled from outside',
    change: (from) => (from === 'running' ? 'cancel_requested' : 'cancelled'),
    to: 'cancelled',
    act: (scene, { task }) => scene.store.taskCancel({ tasks: [task] }),
  },
  {
    words: 'be retried at once',
    change: always('retried'),
    to: 'ready',
    act: (scene, subject) => scene.giveBack(subject, { change: 'retried' }),
  },
  {
    words: 'be retried later',
    change: always('retried'),
    to: 'scheduled',
    act: (scene, subject) => scene.giveBack(subject, { change: 'retried', delayMs: 1 }),
  },
  {
    words: 'be released at once',
    change: always('released'),
    to: 'ready',
    act: (scene, subject) => scene.giveBack(subject, { change: 'released', refund: true }),
  },
  {
    words: 'be released for later',
    change: always('released'),
    to: 'scheduled',
    act: (scene, subject) => scene.giveBack(subject, { change: 'released', refund: true, delayMs: 1 }),
  },
  { words: 'expire and be ready again', change: always('expired'), to: 'ready', act: reap('again', 0) },
  { words: 'expire and be scheduled', change: always('expired'), to: 'scheduled', act: reap('again', 1) },
  { words: 'expire and fail', change: always('expired'), to: 'failed', act: reap('failed', 0) },
  { words: 'expire and be cancelled', change: always('expired'), to: 'cancelled', act: reap('cancelled', 0) },
  {
    words: 'be staged',
    change: always('staged'),
    to: 'ready',
    act: async (scene, _subject, duty) => {
      await scene.pass(HOUR);
      return scene.store.taskStage({ duty, limit: 10 });
    },
  },
  {
    words: 'park',
    change: always('parked'),
    to: 'waiting',
    act: (scene, subject) => park(scene, subject, { channel: 'c' }),
  },
  {
    words: 'be woken by a signal',
    change: always('woken'),
    to: 'ready',
    act: (scene) => scene.store.signalSend({ items: [{ channel: 'c', body: '1' }] }),
  },
  {
    words: 'time out once it was claimed',
    change: always('timed_out'),
    to: 'failed',
    only: [],
    act: async (scene, _subject, duty) => {
      await scene.pass(HOUR);
      return scene.store.taskExpire({ duty, limit: 10 });
    },
  },
  {
    words: 'be revived',
    change: always('revived'),
    to: 'ready',
    act: (scene, { task }) => scene.store.taskRevive({ tasks: [task] }),
  },
];

/** The topics of dependencies and budgets try these. */
const OF_OTHERS: ReadonlySet<string> = new Set([
  'revived to waiting',
  'woken to scheduled',
  'budget_warned to running',
]);

/** The verb moves the task as the table says, tells it once, and moves one of each counter. */
function legalCase(verb: Verb, from: keyof typeof WAYS): Run {
  return async (scene) => {
    const duty = await scene.duty('any', DAY);
    const subject = await WAYS[from](scene);
    const before = await scene.look();
    await verb.act(scene, subject, duty);
    const change = verb.change(from);
    const to = change === 'cancel_requested' ? 'running' : verb.to;
    const attempt = change === 'claimed' ? subject.attempt + 1 : subject.attempt;
    const record = await scene.get(subject.task);
    assert.deepEqual([record.state, record.attempt], [to, attempt]);
    const told = (await scene.look()).events.slice(before.events.length);
    assert.deepEqual(
      told.map((event) => [event.task, event.change, event.state, event.attempt]),
      [[subject.task, change, to, attempt]],
    );
    const counted = before.queues[0]?.stats;
    assert.ok(counted);
    const moved = { ...counted };
    moved[from]--;
    moved[to]++;
    assert.deepEqual(await scene.stats(), moved);
  };
}

function illegalCase(verb: Verb, from: keyof typeof WAYS): Run {
  return async (scene) => {
    const duty = await scene.duty('any', DAY);
    const subject = await WAYS[from](scene);
    await scene.unchanged(() => verb.act(scene, subject, duty));
  };
}

function allPairs(): Record<string, Run> {
  const cases: Record<string, Run> = {};
  for (const verb of VERBS) {
    for (const from of Object.keys(WAYS) as (keyof typeof WAYS)[]) {
      const change = verb.change(from);
      const to = change === 'cancel_requested' ? 'running' : verb.to;
      const legal = isLegal(change, from, to) && (verb.only?.includes(from) ?? true);
      const sentence = legal ? `a ${from} task can ${verb.words}` : `a ${from} task cannot ${verb.words}`;
      cases[sentence] = legal ? legalCase(verb, from) : illegalCase(verb, from);
    }
  }
  return cases;
}

export const TRANSITIONS_TABLE: Topic = {
  name: 'all transitions',
  cases: {
    ...allPairs(),

    'every transition of the table is tried but those that only dependencies and budgets make': async () => {
      const tried = new Set(VERBS.flatMap((verb) => STATES.map((from) => `${verb.change(from)} to ${verb.to}`)));
      tried.add('cancel_requested to running');
      for (const [change, { to }] of Object.entries(TRANSITIONS)) {
        for (const state of to) {
          const name = `${change} to ${state}`;
          if (!OF_OTHERS.has(name)) assert.ok(tried.has(name), name);
        }
      }
      await Promise.resolve();
    },
  },
};
