import { type Candidate, type Obstacle, obstacles, sayObstacle } from '../../core/placement/placement.ts';
import { type Fleet, waitOf } from '../../core/placement/rank.ts';
import { isFinal, type TaskState } from '../../core/task/task.ts';
import type {
  CounterRecord,
  FleetSnapshot,
  HoldingRecord,
  Lane,
  NamedUse,
  TaskRecord,
  WaitRecord,
} from '../../store/store.ts';
import { candidateOf, placedOf } from '../claim/worker-profiles.ts';
import { budgetOf, runSentence, type SituationWait } from './run-sentence.ts';

/** Why a task is in its state: for people, and for programs that act for them. */
export interface Explanation {
  readonly taskId: string;
  readonly state: TaskState;
  /** The whole answer in one sentence. */
  readonly summary: string;
  /** It could be claimed now by a worker that is online. */
  readonly runnable: boolean;
  /** What keeps it from running, besides workers and limits. */
  readonly reasons: readonly string[];
  readonly workers: readonly WorkerVerdict[];
  readonly limits: readonly LimitVerdict[];
  readonly dependencies: readonly DependencyVerdict[];
}

export interface WorkerVerdict {
  readonly name: string;
  readonly eligible: boolean;
  readonly reasons: readonly string[];
}

export interface LimitVerdict {
  readonly name: string;
  readonly key?: string;
  readonly used: number;
  readonly cap?: number;
  /** Public ids of the tasks that hold it. */
  readonly holders: readonly string[];
  /** When time alone makes room: calendar time in milliseconds. */
  readonly freesAt?: number;
  /** It has room for this task now. */
  readonly open: boolean;
}

export interface DependencyVerdict {
  readonly taskId: string;
  readonly state: TaskState | 'gone';
  readonly optional: boolean;
}

/** Everything that an explanation needs: one read of each thing that a claim would check. */
export interface Facts {
  readonly task: TaskRecord;
  readonly taskId: string;
  readonly lane: Lane;
  readonly paused: boolean;
  readonly fleet: FleetSnapshot;
  readonly staleMs: number;
  /** How many similar tasks each worker has, where the placement bounds that. */
  readonly heldLike: ReadonlyMap<number, number>;
  readonly counters: readonly {
    readonly use: NamedUse;
    readonly counter: CounterRecord;
    readonly holders: readonly string[];
    readonly freesInMs: number | undefined;
    readonly open: boolean;
  }[];
  readonly dependencies: readonly DependencyVerdict[];
  readonly wait: WaitRecord | undefined;
  /** Of the root of a run: its tasks by state. */
  readonly members: Readonly<Record<TaskState, number>> | undefined;
  /** Of the credentials that its placement names. */
  readonly holdings: readonly HoldingRecord[];
  /** Calendar time of the store. */
  readonly now: number;
}

/** Decides with the same functions that claims use. */
export function explain(facts: Facts): Explanation {
  const { task, taskId } = facts;
  const open = !isFinal(task.state) && task.state !== 'running';
  const workers = open ? facts.fleet.members.map((member) => verdictOf(member, facts)) : [];
  const limits = open ? facts.counters.map((one) => limitVerdict(one, facts.now)) : [];
  const reasons = open ? reasonsOf(facts) : [];
  const able = workers.some(({ eligible }) => eligible);
  const runnable = task.state === 'ready' && reasons.length === 0 && able && limits.every((limit) => limit.open);
  const parts = { workers, limits, reasons, runnable };
  return { taskId, state: task.state, summary: summaryOf(facts, parts), ...parts, dependencies: facts.dependencies };
}

function verdictOf(member: FleetSnapshot['members'][number], facts: Facts): WorkerVerdict {
  const candidate = candidateOf(member);
  const reasons = obstacles(placedOf(facts.lane), candidate).map((obstacle) => sayFully(obstacle, member.name, facts));
  const silentMs = facts.fleet.now - member.seenAt;
  if (silentMs > facts.staleMs) reasons.push(`has been silent for ${Math.round(silentMs / 1000)} s`);
  if (member.running >= member.slots) reasons.push(`has all its ${member.slots} slots full`);
  const bound = facts.lane.rules?.placement.maxPerWorker;
  const held = facts.heldLike.get(member.worker) ?? 0;
  if (bound !== undefined && held >= bound) reasons.push(`has ${held} such tasks, of at most ${bound}`);
  if (reasons.length === 0) {
    const waitMs = waitOf(member.worker, placedOf(facts.lane), rankingOf(facts), facts.fleet.now);
    const since = facts.task.readySince;
    const left = since === undefined ? 0 : since + waitMs - facts.now;
    if (left > 0) reasons.push(`leaves it to a better worker for ${left} ms more`);
  }
  return { name: member.name, eligible: reasons.length === 0, reasons };
}

/** Of a credential that a worker should have and does not also why. */
function sayFully(obstacle: Obstacle, worker: string, { holdings }: Facts): string {
  const said = sayObstacle(obstacle);
  if (obstacle.kind !== 'credential') return said;
  const found = holdings.find((one) => one.worker === worker && one.credential === obstacle.credential);
  const why = found && sayHolding(found);
  return why === undefined ? said : `${said} (${why})`;
}

function sayHolding({ status, wanted, error }: HoldingRecord): string | undefined {
  if (error !== undefined) return error;
  switch (status) {
    case 'wanted':
      return `version ${wanted} was not acknowledged yet`;
    case 'removing':
    case 'removed':
      return 'it was taken away';
    case 'told':
      return 'it says that it has its own, which is not allowed to count';
    case 'stored':
    case 'failed':
      return undefined;
  }
}

function rankingOf({ fleet, staleMs, lane }: Facts): Fleet {
  return {
    members: fleet.members.map((member) => ({
      worker: candidateOf(member) satisfies Candidate,
      free: member.slots - member.running,
      seenAt: member.seenAt,
    })),
    staleMs,
    servedLast: () => lane.rules?.servedBy,
  };
}

function limitVerdict(
  { use, counter, holders, freesInMs, open }: Facts['counters'][number],
  now: number,
): LimitVerdict {
  return {
    name: use.name,
    ...(use.key === '' ? {} : { key: use.key }),
    used: counter.active,
    ...(counter.cap === undefined ? {} : { cap: counter.cap }),
    holders,
    ...(freesInMs === undefined || freesInMs === 0 ? {} : { freesAt: now + freesInMs }),
    open,
  };
}

function reasonsOf({ task, paused, dependencies, wait, now }: Facts): readonly string[] {
  const reasons: string[] = [];
  if (paused) reasons.push(`its queue ${task.queue} is paused`);
  if (task.state === 'scheduled') reasons.push(dueReason(task, now));
  if (task.state === 'waiting') reasons.push(waitReason(dependencies, wait, now));
  return reasons;
}

function dueReason({ attempt, runAt }: TaskRecord, now: number): string {
  const when = `until ${timeOf(runAt ?? now)}`;
  return attempt === 0 ? `it is not due ${when}` : `it was tried before and waits ${when} for its next try`;
}

function waitReason(dependencies: readonly DependencyVerdict[], wait: WaitRecord | undefined, now: number): string {
  const left = dependencies.filter(({ state }) => state !== 'gone' && !isFinal(state));
  if (left.length > 0) {
    const named = left.slice(0, 3).map(({ taskId, state }) => `${taskId} (${state})`);
    const more = left.length > 3 ? ` and ${left.length - 3} more` : '';
    return `it waits for ${left.length} of ${dependencies.length} tasks: ${named.join(', ')}${more}`;
  }
  const until = wait?.deadline === undefined ? '' : `, until ${timeOf(wait.deadline)}`;
  const besides = wait?.others === undefined ? '' : `, or for one of ${wait.others.length} others`;
  if (wait?.form !== undefined) return `it waits for somebody to decide${besides}${until}`;
  if (wait?.channel !== undefined) return `it waits for a signal on ${wait.channel}${besides}${until}`;
  return wait?.deadline === undefined ? 'it waits' : `it sleeps until ${timeOf(wait.deadline ?? now)}`;
}

type Parts = Pick<Explanation, 'workers' | 'limits' | 'reasons' | 'runnable'>;

function summaryOf(facts: Facts, { workers, limits, reasons, runnable }: Parts): string {
  const { task, fleet, counters } = facts;
  if (isFinal(task.state))
    return `The task has ended: ${task.state}${task.reason === 'none' ? '' : ` (${task.reason})`}.`;
  if (task.state === 'running') return `The task is running${runnerOf(task, fleet)}.`;
  const { members } = facts;
  if (members !== undefined && task.state === 'waiting' && !facts.paused) return sayRun(facts, members);
  const [first] = reasons;
  if (first !== undefined) return `The task does not run: ${first}.`;
  if (workers.length === 0) return 'No worker is online.';
  const full = limits.findIndex(({ open }) => !open);
  if (full !== -1) return sayLimit(limits[full] as LimitVerdict, counters[full]?.use.weight ?? 1);
  if (runnable) return `The task can run now: ${namesOf(workers)} may take it.`;
  return `No worker can run the task now: ${tally(workers)}.`;
}

/** A run is told as a whole: what it waits for, and how its children are. */
function sayRun({ task, wait, now, dependencies }: Facts, members: Readonly<Record<TaskState, number>>): string {
  const { state, reason } = task;
  const open = wait?.outcome === 'open' ? situationOf(wait, dependencies.length > 0) : undefined;
  return `The run ${runSentence({ state, reason, wait: open, members }, now)}.`;
}

function situationOf({ form, channel, since, deadline }: WaitRecord, children: boolean): SituationWait {
  const common = { since, deadline, channel };
  if (form !== undefined) return { ...common, kind: 'approval' };
  if (channel !== undefined) return { ...common, kind: budgetOf(channel) === undefined ? 'signal' : 'budget' };
  return { ...common, kind: children ? 'children' : 'time' };
}

function runnerOf({ holder }: TaskRecord, { members }: FleetSnapshot): string {
  const member = members.find(({ worker }) => worker === holder);
  return member === undefined ? '' : ` on ${member.name}`;
}

function sayLimit({ name, key, used, cap, freesAt }: LimitVerdict, weight: number): string {
  const which = key === undefined ? `The limit ${name}` : `The limit ${name} for ${key}`;
  // A cap of 0 holds all tasks back, whatever they weigh.
  if (cap !== undefined && cap > 0 && weight > cap) {
    return `${which} can never let it start: it takes ${weight}, and the limit allows ${cap} at once. Raise the limit, or push the task again with a smaller weight.`;
  }
  if (cap !== undefined && used >= cap) return `${which} is full: ${used} of ${cap} are in use.`;
  if (cap !== undefined && used + weight > cap) {
    return `${which} is full for this task: ${used} of ${cap} are in use, and it takes ${weight}.`;
  }
  return `${which} lets nothing start${freesAt === undefined ? '' : ` before ${timeOf(freesAt)}`}.`;
}

function namesOf(workers: readonly WorkerVerdict[]): string {
  const names = workers.filter(({ eligible }) => eligible).map(({ name }) => name);
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

/** The most frequent reasons first. */
function tally(workers: readonly WorkerVerdict[]): string {
  const counts = new Map<string, number>();
  for (const { reasons } of workers) for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3);
  return frequent.map(([reason, n]) => `${reason} (${n} of ${workers.length})`).join('; ');
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
