import { type Candidate, type Obstacle, obstacles, type Placed } from '../placement/placement.ts';
import { allot, type CounterUse, type LimitCounter } from './limit.ts';

/** Why ready tasks wait. */
export type Why = 'limit' | 'placement' | 'paused' | 'busy' | 'nobody';

export interface Held {
  readonly why: Why;
  /** Of the limit or the queue; of a placement the first thing that nobody has. */
  readonly name?: string;
  readonly tasks: number;
  /** As people say it: `9 need tag gpu, which no worker has`. */
  readonly text: string;
}

/** Tasks that are ready and need not be told apart. */
export interface ReadyKind extends Placed {
  readonly lane: number;
  readonly ready: number;
  readonly paused: boolean;
  /** The counters that each of them takes from, with the limit that they belong to. */
  readonly uses: readonly (CounterUse & { readonly name: string })[];
}

/** A worker that is there, and how many tasks it could take besides those that it has. */
export interface FreeWorker {
  readonly worker: Candidate;
  readonly free: number;
}

export interface Waiting {
  readonly kinds: readonly ReadyKind[];
  readonly hands: readonly FreeWorker[];
  readonly counters: ReadonlyMap<number, LimitCounter>;
  /** In the time of the counters. */
  readonly now: number;
}

/**
 * What ready tasks wait for, by the functions that claims and Explain go by: a pause first, then who may run them at all, then
 * what the limits let start, then who has room. What nothing holds back is about to start, and is not told here. How many
 * like it a worker may have at once is not asked: that would read everything that runs.
 */
export function heldBack({ kinds, hands, counters, now }: Waiting): readonly Held[] {
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
    else if (hands.length === 0) add(kind.ready, NOBODY);
    return !kind.paused && hands.length > 0;
  });
  const fitting = open.flatMap((kind) => {
    const able = hands.filter(({ worker }) => obstacles(kind, worker).length === 0);
    if (able.length === 0) add(kind.ready, unplaced(kind, hands));
    return able.length === 0 ? [] : [{ kind, able }];
  });
  const asks = fitting.map(({ kind }) => ({ lane: kind.lane, max: kind.ready, uses: kind.uses }));
  const free = new Map(hands.map(({ worker, free: some }) => [worker.worker, some]));
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

/** Of as many tasks each: the short reasons come before those with a clause of their own. */
const ORDER: readonly Why[] = ['limit', 'busy', 'nobody', 'paused', 'placement'];

/** Takes as many free slots as it can of those that would do; answers how many. */
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

/** Of what a task asks for and no worker is, the first thing that all of them lack. */
function unplaced(kind: ReadyKind, hands: readonly FreeWorker[]): Cause {
  const lacking = hands.map(({ worker }) => obstacles(kind, worker).flatMap((one) => demandOf(one, kind) ?? []));
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

/** What a worker lacks by what it is; nothing where it is only not there for now. */
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

/** What the sentence is made from. */
export interface QueueStatus {
  readonly workers: { readonly online: number };
  readonly slots: { readonly all: number; readonly busy: number };
  readonly ready: number;
  readonly running: number;
  /** Tasks of any other state, ended ones too. */
  readonly others: number;
  readonly held: readonly Held[];
}

/** Reasons that are told; the others are summed up. */
const MOST_TOLD = 3;

/** How it stands, in one sentence. */
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
  const told = held.slice(0, MOST_TOLD).map(({ text }) => text);
  const more = held.slice(MOST_TOLD).reduce((sum, { tasks }) => sum + tasks, 0);
  return `${ready} waiting: ${[...told, ...(more === 0 ? [] : [`${more} for other reasons`])].join(', ')}`;
}

/** What a person should look after. */
export interface Concerns {
  readonly ready: number;
  readonly online: number;
  readonly held: readonly Held[];
  /** Nodes are there, and none of them leads. */
  readonly leaderless: boolean;
  /** Something went wrong a moment ago. */
  readonly recent: boolean;
}

/** What waits for a limit or for a free slot waits as it should; what nobody can run, or nobody may, waits for a person. */
export function healthOf({ ready, online, held, leaderless, recent }: Concerns): 'well' | 'attention' | 'trouble' {
  if (leaderless || (ready > 0 && online === 0)) return 'trouble';
  return recent || held.some(({ why }) => why === 'placement' || why === 'paused') ? 'attention' : 'well';
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}
