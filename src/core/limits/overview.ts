import { type Candidate, type Obstacle, obstacles, type Placed } from '../placement/placement.ts';
import { allot, type CounterUse, type LimitCounter } from './limit.ts';

/** Why ready tasks wait. */
export type Why = 'limit' | 'placement' | 'paused' | 'busy' | 'nobody';

export interface Held {
  readonly why: Why;
  /** The limit or the queue; for a placement the first demand that no worker meets. */
  readonly name?: string;
  readonly tasks: number;
  /** For people: `9 need tag gpu, which no worker has`. */
  readonly text: string;
}

/** Ready tasks of one lane. */
export interface ReadyKind extends Placed {
  readonly lane: number;
  readonly ready: number;
  readonly paused: boolean;
  /** The counters that each of them takes from, with the limit that they belong to. */
  readonly uses: readonly (CounterUse & { readonly name: string })[];
}

/** A worker that is online, and how many more tasks it could take. */
export interface FreeWorker {
  readonly worker: Candidate;
  readonly free: number;
}

export interface Waiting {
  readonly kinds: readonly ReadyKind[];
  readonly workers: readonly FreeWorker[];
  readonly counters: ReadonlyMap<number, LimitCounter>;
  /** In the time of the counters. */
  readonly now: number;
}

/**
 * What ready tasks wait for, by the functions that claims and Explain use: a pause first, then a worker that may run them at all, then the
 * limits, then a free slot. A task that nothing blocks is about to start, and is not counted. The bound of similar tasks per worker is not
 * checked: that would read every running task.
 */
export function heldBack({ kinds, workers, counters, now }: Waiting): readonly Held[] {
  const sums = new Map<string, Cause & { tasks: number }>();
  const add = (tasks: number, cause: Cause): void => {
    if (tasks <= 0) return;
    const key = `${cause.why} ${cause.say(0)}`;
    const before = sums.get(key);
    if (before === undefined) sums.set(key, { ...cause, tasks });
    else before.tasks += tasks;
  };
  const open = kinds.filter((kind) => {
    if (kind.paused) add(kind.ready, pausedIn(kind.queue));
    else if (workers.length === 0) add(kind.ready, NOBODY);
    return !kind.paused && workers.length > 0;
  });
  const fitting = open.flatMap((kind) => {
    const able = workers.filter(({ worker }) => obstacles(kind, worker).length === 0);
    if (able.length === 0) add(kind.ready, unplaced(kind, workers));
    return able.length === 0 ? [] : [{ kind, able }];
  });
  const asks = fitting.map(({ kind }) => ({ lane: kind.lane, max: kind.ready, uses: kind.uses }));
  const free = new Map(workers.map(({ worker, free: some }) => [worker.worker, some]));
  for (const [i, { max, block }] of allot(asks, counters, now).entries()) {
    const { kind, able } = fitting[i] as (typeof fitting)[number];
    const name = kind.uses.find(({ counter }) => counter === block?.counter)?.name;
    if (name !== undefined) add(kind.ready - max, onLimit(name));
    add(max - takeRoom(able, free, max), BUSY);
  }
  return [...sums.values()]
    .sort((a, b) => b.tasks - a.tasks || ORDER.indexOf(a.why) - ORDER.indexOf(b.why))
    .map(({ why, name, tasks, say }) => ({ why, ...(name === undefined ? {} : { name }), tasks, text: say(tasks) }));
}

/** With equal numbers of tasks, short reasons come before longer ones. */
const ORDER: readonly Why[] = ['limit', 'busy', 'nobody', 'paused', 'placement'];

/** Takes as many free slots of these workers as it can; answers how many. */
function takeRoom(able: readonly FreeWorker[], free: Map<number, number>, wanted: number): number {
  let left = wanted;
  for (const { worker } of able) {
    const room = free.get(worker.worker) as number;
    const some = Math.max(0, Math.min(left, room));
    free.set(worker.worker, room - some);
    left -= some;
  }
  return wanted - left;
}

interface Cause {
  readonly why: Why;
  readonly name?: string | undefined;
  readonly say: (tasks: number) => string;
}

const NOBODY: Cause = { why: 'nobody', say: (n) => `${n} for a worker` };
const BUSY: Cause = { why: 'busy', say: (n) => `${n} for a free slot` };
const onLimit = (name: string): Cause => ({ why: 'limit', name, say: (n) => `${n} on limit ${name}` });
const pausedIn = (queue: string): Cause => ({
  why: 'paused',
  name: queue,
  say: (n) => `${n} in queue ${queue}, which is paused`,
});

/** The first demand that no worker meets. */
function unplaced(kind: ReadyKind, workers: readonly FreeWorker[]): Cause {
  const lacking = workers.map(({ worker }) => obstacles(kind, worker).flatMap((one) => demandOf(one, kind) ?? []));
  const all = lacking.flat();
  const common = all.find(({ text }) => lacking.every((some) => some.some((one) => one.text === text)));
  if (common !== undefined) {
    const { name, text, rest } = common;
    return { why: 'placement', name, say: (n) => `${n} ${n === 1 ? text.replace(/^\w+/, singular) : text}, ${rest}` };
  }
  if (lacking.some((some) => some.length === 0)) {
    return {
      why: 'placement',
      say: (n) => `${n} ${n === 1 ? 'fits' : 'fit'} only workers that are disabled or draining`,
    };
  }
  const named = [...new Set(all.map(({ name }) => name))].slice(0, 3).join(' and ');
  return {
    why: 'placement',
    name: (all[0] as Demand).name,
    say: (n) => `${n} ${n === 1 ? 'needs' : 'need'} ${named}, which no one worker has together`,
  };
}

function singular(verb: string): string {
  return verb === 'are' ? 'is' : `${verb}s`;
}

interface Demand {
  readonly name: string;
  /** Without a number; begins with a verb in the plural. */
  readonly text: string;
  readonly rest: string;
}

/** The demand behind an obstacle; undefined where the worker is only unavailable for now. */
function demandOf(obstacle: Obstacle, { placement }: Placed): Demand | undefined {
  switch (obstacle.kind) {
    case 'disabled':
    case 'draining':
    case 'offline':
      return undefined;
    case 'queue':
      return { name: obstacle.queue, text: `are in queue ${obstacle.queue}`, rest: 'which no worker serves' };
    case 'handler':
      return { name: obstacle.handler, text: `need handler ${obstacle.handler}`, rest: 'which no worker offers' };
    case 'tag':
      return { name: obstacle.tag, text: `need tag ${obstacle.tag}`, rest: 'which no worker has' };
    case 'credential':
      return {
        name: obstacle.credential,
        text: `need credential ${obstacle.credential}`,
        rest: 'which no worker holds',
      };
    case 'version':
      return { name: obstacle.wanted, text: `need version ${obstacle.wanted}`, rest: 'which no worker has' };
    case 'not_chosen': {
      const names = (placement.only as readonly string[]).slice(0, 3).join(' or ');
      return { name: names, text: `need worker ${names}`, rest: 'which is not there' };
    }
    case 'excluded':
      return { name: 'another worker', text: 'need another worker', rest: 'and there is none' };
  }
}

/** The facts of the sentence. */
export interface QueueStatus {
  readonly workers: { readonly online: number };
  readonly slots: { readonly all: number; readonly busy: number };
  readonly ready: number;
  readonly running: number;
  /** Tasks in any other state, ended ones too. */
  readonly others: number;
  readonly held: readonly Held[];
}

/** The most reasons that are named; the others are summed up. */
const MAX_NAMED = 3;

/** The state of the cluster, in one sentence. */
export function sayStatus(status: QueueStatus): string {
  const { workers, ready, running, others, held } = status;
  const online = workers.online === 0 ? 'No worker online' : `${count(workers.online, 'worker')} online`;
  if (ready + running + others === 0) {
    return workers.online === 0 ? 'Nothing here yet: no task and no worker.' : `${online}, and no task yet.`;
  }
  if (ready === 0 && running === 0) {
    return workers.online === 0
      ? 'No worker online, and nothing waits for one.'
      : `All is well: ${online}, nothing running, nothing waiting.`;
  }
  const runs = `${running === 0 ? 'nothing' : String(running)} running`;
  if (ready === 0) return `${online}, ${runs}, nothing waiting.`;
  return `${online}, ${runs}, ${waitsFor(status, held)}.`;
}

function waitsFor({ ready, slots }: QueueStatus, held: readonly Held[]): string {
  const [first] = held;
  if (first === undefined) return `${ready} about to start`;
  const alone = held.length === 1 && first.tasks >= ready;
  if (alone && first.why === 'nobody') return `${ready} waiting for one`;
  if (alone && first.why === 'busy') {
    return `${ready} waiting: ${slots.all === 1 ? 'the only slot is' : `all ${slots.all} slots are`} busy`;
  }
  const named = held.slice(0, MAX_NAMED).map(({ text }) => text);
  const more = held.slice(MAX_NAMED).reduce((sum, { tasks }) => sum + tasks, 0);
  return `${ready} waiting: ${[...named, ...(more === 0 ? [] : [`${more} for other reasons`])].join(', ')}`;
}

/** What may need a person's attention. */
export interface Concerns {
  readonly ready: number;
  readonly online: number;
  readonly held: readonly Held[];
  /** There are nodes, and none of them leads. */
  readonly leaderless: boolean;
  /** Something went wrong a moment ago. */
  readonly recent: boolean;
}

/**
 * A task that waits for a limit or a free slot waits as it should. A task that no worker can run, or whose queue is
 * paused, waits for a person.
 */
export function healthOf({ ready, online, held, leaderless, recent }: Concerns): 'well' | 'attention' | 'trouble' {
  if (leaderless || (ready > 0 && online === 0)) return 'trouble';
  return recent || held.some(({ why }) => why === 'placement' || why === 'paused') ? 'attention' : 'well';
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
