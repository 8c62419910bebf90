import { isFinal } from '../../core/task/task.ts';
import type { Run } from '../../engine/trees/runs.ts';
import { isMap, type Value } from '../../flow/expression/values.ts';
import { LOOP_CHANNELS } from '../../flow/loop/channels.ts';
import { LOOP_GIT } from '../../flow/loop/git/git-task.ts';
import { cleanupIn, mergedIn, placeShown, type RunWorktree, worktreeIn } from '../../flow/loop/git/worktree-state.ts';
import {
  eventsOfLoop,
  type LoopEvent,
  type LoopPause,
  type LoopStatus,
  type WorktreeFacts,
} from '../../flow/loop/loop-events.ts';
import { isPhase, type LoopPhase } from '../../flow/loop/records.ts';
import { type LoopStep, type StateEntry, type StepStatus, stepsOfLoop } from '../../flow/loop/steps.ts';
import type { MachinePayload } from '../../flow/machine/machine-run.ts';
import type { Snapshot } from '../../flow/machine/snapshot.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { headsOf, type Step, snapshotAt, stepsOf } from '../runs/journals.ts';
import { payloadOf } from '../runs/machine-definition.ts';

/** The state in which a loop waits to be told to go on. */
const PAUSED = 'paused';
const KEYS_AT_ONCE = 50;

/** A run of a loop with all that is stored of where it stands. */
export interface LoopLook {
  readonly run: Run;
  readonly input: Value;
  /** The name by which its machine and its channels know it. */
  readonly executionId: string;
  readonly status: LoopStatus;
  readonly steps: readonly LoopStep[];
  readonly events: readonly LoopEvent[];
  readonly changedAt: number;
  /** Why it failed, or was cancelled. */
  readonly reason: string | undefined;
  /** How often it was paused so far. */
  readonly pauses: number;
  /** Undefined: it works in a plain folder, or has not begun. */
  readonly worktree: RunWorktree | undefined;
  /** What became of the worktree after the run had completed, and when. */
  readonly cleanup: { readonly status: string; readonly at: number | undefined } | undefined;
  /** The commit of its own merge. */
  readonly merged: string | undefined;
  readonly review: LoopReview;
  /** The state at which it stands is the one in which it waits to be told to go on. */
  readonly standsPaused: boolean;
}

/** What somebody has done about the work of a run. */
export interface LoopReview {
  readonly status: 'pending' | 'reviewed' | 'scrapped' | 'merged';
  readonly at: number | undefined;
  readonly commit: string | undefined;
}

export const executionIdOf = ({ name, id }: Run): string => name ?? id;

/** A run that waits for its turn counts as paused if it was told to pause: no phase begins before it is told to go on. */
export async function statusOf(snapshot: EngineSnapshot, run: Run): Promise<LoopStatus> {
  const { engine } = snapshot;
  switch (run.state) {
    case 'completed':
      return 'COMPLETED';
    case 'failed':
      return 'FAILED';
    case 'cancelled':
      return 'CANCELED';
    case 'running':
      return 'RUNNING';
    case 'waiting': {
      const wait = await engine.store.waitGet({ task: run.task });
      const isPaused = wait?.outcome === 'open' && wait.channel === LOOP_CHANNELS.resume(executionIdOf(run));
      return isPaused ? 'PAUSED' : 'RUNNING';
    }
    case 'ready':
    case 'scheduled':
      return (await pausesAhead(snapshot, run)).open > 0 ? 'PAUSED' : 'PENDING';
  }
}

/** Pauses that were asked for and that the run has not come to, and those of them that were taken back. */
interface PausesAhead {
  readonly asked: number;
  readonly takenBack: number;
  readonly open: number;
}

export async function pausesAhead({ engine }: EngineSnapshot, run: Run): Promise<PausesAhead> {
  const executionId = executionIdOf(run);
  const [asked, takenBack] = await Promise.all([
    engine.waits.kept(LOOP_CHANNELS.pause(executionId)),
    engine.waits.kept(LOOP_CHANNELS.resume(executionId)),
  ]);
  return { asked, takenBack, open: asked - takenBack };
}

export async function lookAt(snapshot: EngineSnapshot, run: Run): Promise<LoopLook> {
  const { engine } = snapshot;
  const record = await engine.get(run.task);
  const payload = record === undefined ? undefined : payloadOf(record);
  const { heads } = await headsOf(engine, [run.task]);
  const all = await stepsOf(engine, run.task, heads);
  const [status, now, entries, attempts] = await Promise.all([
    statusOf(snapshot, run),
    payload === undefined ? undefined : snapshotAt(engine, run.task, payload, { heads, steps: all }),
    entriesOf(snapshot, run.task, all, new Map(heads.map((head) => [head.key, head]))),
    engine.attempts(run.task),
  ]);
  const steps = stepsOfLoop(entries, standingOf(run, now), run.startedAt);
  const reason = reasonOf(run, record?.result);
  const workers = new Map((await snapshot.workers()).map(({ worker, name }) => [worker, name]));
  const first = attempts[0]?.holder ?? record?.holder;
  const finishedAt = isFinal(run.state) ? run.finishedAt : undefined;
  const context = now?.context ?? {};
  const worktree = worktreeIn(context['worktree']);
  const cleanup = cleanupIn(context);
  const places = worktreePlaces(entries, worktree, cleanup?.status);
  const events = eventsOfLoop({
    status,
    worktree: places,
    strategy: worktree?.strategy,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt,
    lease: run.attempt,
    n: now?.step ?? 0,
    worker: first === undefined ? undefined : workers.get(first),
    reason,
    steps,
    pauses: pausesOf(entries, status, now, run),
  });
  return {
    run,
    input: payload?.input ?? {},
    executionId: executionIdOf(run),
    status,
    steps,
    events,
    changedAt: finishedAt ?? entries.at(-1)?.at ?? run.startedAt ?? run.createdAt,
    reason,
    pauses: pausedSoFar(now),
    worktree,
    cleanup: cleanup === undefined ? undefined : { status: cleanup.status, at: (places?.ended ?? places?.left)?.at },
    merged: mergedIn(context),
    review: worktree === undefined ? PENDING : await reviewOf(snapshot, run),
    standsPaused: now?.state === PAUSED,
  };
}

/** Entries of states, in their order; values of phases alone are read. */
async function entriesOf(
  { engine }: EngineSnapshot,
  task: number,
  steps: readonly Step[],
  heads: ReadonlyMap<string, { readonly at: number; readonly attempt: number }>,
): Promise<readonly StateEntry[]> {
  const wanted = steps.filter(({ state }) => isPhase(state)).map(({ key }) => key);
  const outs = new Map<string, Value>();
  for (let from = 0; from < wanted.length; from += KEYS_AT_ONCE) {
    const keys = wanted.slice(from, from + KEYS_AT_ONCE);
    for (const { key, value } of await engine.store.journalEntries({ task, keys }))
      outs.set(key, value === undefined ? undefined : (JSON.parse(value) as { readonly out?: Value }).out);
  }
  return steps.flatMap(({ key, step, state }) => {
    const head = heads.get(key);
    return head === undefined ? [] : [{ n: step, state, lease: head.attempt, at: head.at, out: outs.get(key) }];
  });
}

function standingOf({ state, attempt }: Run, now: Snapshot | undefined) {
  return now === undefined ? undefined : { n: now.step, state: now.state, lease: attempt, status: STANDING[state] };
}

/** What a phase is that has not ended, by the state of its task. */
const STANDING: Readonly<Record<Run['state'], StepStatus>> = {
  running: 'IN_PROGRESS',
  waiting: 'QUEUED',
  ready: 'QUEUED',
  scheduled: 'QUEUED',
  completed: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'CANCELED',
};

function pausesOf(
  entries: readonly StateEntry[],
  status: LoopStatus,
  now: Snapshot | undefined,
  { attempt }: Run,
): readonly LoopPause[] {
  const pauses = entries.flatMap(({ n, state, lease, at }, i): readonly LoopPause[] => {
    if (state !== PAUSED) return [];
    const before = entries[i - 1];
    return [{ n, lease: before?.lease ?? lease, from: before?.at, until: { lease, at } }];
  });
  if (status !== 'PAUSED' || now?.state !== PAUSED) return pauses;
  const before = entries.at(-1);
  return [...pauses, { n: now.step, lease: before?.lease ?? attempt, from: before?.at, until: undefined }];
}

/** Where in the run its worktree was made, and where it went. */
function worktreePlaces(
  entries: readonly StateEntry[],
  worktree: RunWorktree | undefined,
  cleanup: string | undefined,
): WorktreeFacts | undefined {
  const made = entries.find(({ state }) => state === 'prepare');
  if (worktree === undefined || made === undefined) return undefined;
  const ended = entries.findLast(({ state }) => state === 'cleanup');
  const { branch } = worktree;
  return {
    path: placeShown(worktree),
    branch,
    made,
    ...(ended === undefined || cleanup !== 'cleaned' ? { left: ended } : { ended }),
  };
}

/** What the names of all reviews of a run begin with. */
export const reviewPrefix = (run: string): string => `${run}/review/`;

const PENDING: LoopReview = { status: 'pending', at: undefined, commit: undefined };
const MOST_REVIEWS = 50;

/** The last thing that was done: a merge or a scrap counts more than a look. */
async function reviewOf({ engine }: EngineSnapshot, { id }: Run): Promise<LoopReview> {
  const { runs } = await engine.runs.list({
    kind: LOOP_GIT,
    name: reviewPrefix(id),
    states: ['completed'],
    limit: MOST_REVIEWS,
  });
  const done =
    runs.find(({ title }) => title === 'merge' || title === 'scrap') ?? runs.find(({ title }) => title === 'diff');
  if (done === undefined) return PENDING;
  if (done.title !== 'merge')
    return { status: done.title === 'diff' ? 'reviewed' : 'scrapped', at: done.finishedAt, commit: undefined };
  const { result } = (await engine.get(done.task)) ?? {};
  const said: unknown = result === undefined ? undefined : JSON.parse(result);
  const commit = isMap(said) && typeof said['commit'] === 'string' ? said['commit'] : undefined;
  return { status: 'merged', at: done.finishedAt, commit };
}

function pausedSoFar(now: Snapshot | undefined): number {
  const pauses = now?.context['pauses'];
  return typeof pauses === 'number' ? pauses : 0;
}

function reasonOf({ state, cancelNote }: Run, result: string | undefined): string | undefined {
  if (state === 'cancelled') return cancelNote?.why;
  if (state !== 'failed') return undefined;
  const error: unknown = result === undefined ? undefined : JSON.parse(result);
  return isMap(error) && typeof error['message'] === 'string' ? error['message'] : 'it failed';
}

/** The phase at which a run stands, and its worktree. Nothing is stored of it yet: its first. */
export async function phaseOf(
  { engine }: EngineSnapshot,
  task: number,
  payload: MachinePayload,
): Promise<{ readonly phase: LoopPhase; readonly worktree: RunWorktree | undefined }> {
  const { heads } = await headsOf(engine, [task]);
  const now = await snapshotAt(engine, task, payload, { heads, steps: await stepsOf(engine, task, heads) });
  const next = now?.context['next'];
  const phase = isPhase(now?.state) ? now.state : isPhase(next) ? next : 'implementation';
  return { phase, worktree: worktreeIn(now?.context['worktree']) };
}
