import { fault } from '../../core/errors.ts';
import { isFinal, type TaskState } from '../../core/task/task.ts';
import type { Run } from '../../engine/trees/runs.ts';
import { LOOP_CHANNELS } from '../../flow/loop/channels.ts';
import { LOOP } from '../../flow/loop/demand.ts';
import type { ArtifactMode } from '../../flow/loop/files/file-names.ts';
import type { LoopStatus } from '../../flow/loop/loop-events.ts';
import type { MachinePayload } from '../../flow/machine/machine-run.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { findRun } from '../runs/find-run.ts';
import { payloadOf } from '../runs/machine-definition.ts';
import { startRun } from '../runs/start-run.ts';
import { executionIdOf, type LoopLook, lookAt, pausesAhead, phaseOf, statusOf } from './loop-look.ts';
import { settingsIn } from './loop-settings.ts';

interface LoopStart {
  /** The text of the machine, as `leasehold run` makes it. */
  readonly bundle: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly title?: string | undefined;
  /** A repeat under it leads to the same run. */
  readonly op?: string | undefined;
}

interface LoopQuery {
  readonly workspace?: string | undefined;
  readonly status?: LoopStatus | undefined;
  readonly limit: number;
}

/** Runs that one list looks at. */
const MOST_SEEN = 5000;
const PAGE = 200;

/** The states of tasks that a status may have. */
const STATES: Readonly<Record<LoopStatus, readonly TaskState[]>> = {
  PENDING: ['ready', 'scheduled'],
  RUNNING: ['running', 'waiting'],
  PAUSED: ['waiting', 'ready', 'scheduled'],
  COMPLETED: ['completed'],
  FAILED: ['failed'],
  CANCELED: ['cancelled'],
};

export async function startLoop(snapshot: EngineSnapshot, { bundle, input, title, op }: LoopStart): Promise<Run> {
  const start = { bundle, input, ...(title === undefined ? {} : { title }) };
  return (await startRun(snapshot, start as Parameters<typeof startRun>[1], op)).run;
}

/** Any other run is as if it were not there. */
export async function findLoop(snapshot: EngineSnapshot, id: string): Promise<Run> {
  const run = await findRun(snapshot, id);
  if (run.kind === LOOP && run.root === undefined) return run;
  throw fault('NOT_FOUND', { kind: 'run of a loop', id });
}

export const lookUp = async (snapshot: EngineSnapshot, id: string): Promise<LoopLook> =>
  lookAt(snapshot, await findLoop(snapshot, id));

/** Newest first. */
export async function listLoops(
  snapshot: EngineSnapshot,
  { workspace, status, limit }: LoopQuery,
): Promise<readonly LoopLook[]> {
  const { engine } = snapshot;
  const found: LoopLook[] = [];
  for (let before: number | undefined, seen = 0; seen < MOST_SEEN; seen += PAGE) {
    const page = await engine.runs.list({
      kind: LOOP,
      limit: PAGE,
      before,
      ...(status === undefined ? {} : { states: STATES[status] }),
    });
    for (const run of page.runs) {
      if (workspace !== undefined && run.labels['workspace'] !== workspace) continue;
      if (status !== undefined && (await statusOf(snapshot, run)) !== status) continue;
      found.push(await lookAt(snapshot, run));
      if (found.length === limit) return found;
    }
    before = page.next;
    if (before === undefined) break;
  }
  return found;
}

/** Takes effect before the next phase. A run that was told so already is left alone. */
export async function pauseLoop(snapshot: EngineSnapshot, id: string): Promise<void> {
  const { run, executionId, pauses, status, standsPaused } = await lookUp(snapshot, id);
  if (isFinal(run.state)) throw wrongState(run, 'nothing is left to pause');
  const { asked, takenBack, open } = await pausesAhead(snapshot, run);
  // It is about to wait, and nobody has told it to go on.
  const isNear = standsPaused && takenBack === 0;
  if (status === 'PAUSED' || isNear || open > 0) return;
  await tell(snapshot, LOOP_CHANNELS.pause(executionId), pauses + asked + 1);
}

/** A run that waits goes on, and a pause that it has not come to is over when it does. */
export async function resumeLoop(snapshot: EngineSnapshot, id: string): Promise<void> {
  const { run, executionId, pauses, status, standsPaused } = await lookUp(snapshot, id);
  if (isFinal(run.state))
    throw wrongState(run, 'nothing is left to go on with; a run that failed or was cancelled can be tried again');
  const { takenBack, open } = await pausesAhead(snapshot, run);
  const waits = (status === 'PAUSED' && run.state === 'waiting') || (standsPaused && takenBack === 0);
  if (!waits && open <= 0) throw wrongState(run, 'it is not paused');
  await tell(snapshot, LOOP_CHANNELS.resume(executionId), waits ? pauses : pauses + takenBack + 1);
}

/** The pause of each number is asked for once, and ended once, however often and by whomever that is said. */
async function tell({ engine }: EngineSnapshot, channel: string, n: number): Promise<void> {
  await engine.waits.signal(channel, { n }, { op: `${channel}/${n}` });
}

export async function cancelLoop(snapshot: EngineSnapshot, id: string, by: string): Promise<void> {
  const run = await findLoop(snapshot, id);
  if (isFinal(run.state)) throw wrongState(run, 'nothing is left to cancel');
  await snapshot.engine.runs.cancel(run.task, by === '' ? {} : { by });
}

/** Goes on where it failed or was cancelled, with all of its bounds anew. Whoever wants that does not want it to be paused. */
export async function retryLoop(snapshot: EngineSnapshot, id: string): Promise<void> {
  const { run, executionId, pauses, standsPaused } = await lookUp(snapshot, id);
  if (run.state !== 'failed' && run.state !== 'cancelled')
    throw wrongState(run, 'only a run that failed or was cancelled is tried again');
  const { takenBack, open } = await pausesAhead(snapshot, run);
  await snapshot.engine.runs.retry(run.task);
  const channel = LOOP_CHANNELS.resume(executionId);
  if (standsPaused) await tell(snapshot, channel, pauses);
  for (let n = 1; n <= open; n++) await tell(snapshot, channel, pauses + takenBack + n);
}

/** Where a step works, as workers of loopd are told it. */
interface WorkspaceOfStep {
  readonly source: string;
  readonly repo_url: string | null;
  /** The branch of the run. */
  readonly repo_ref: string | null;
  /** What its last phase has left there. */
  readonly expected_commit: string | null;
}

export interface StepOfRun {
  readonly runId: string;
  /** Undefined: its run is no loop. */
  readonly phase?: string;
  readonly workspace?: WorkspaceOfStep;
  /** Where the files of the run go. */
  readonly artifacts?: ArtifactMode;
}

/** The runs of these tasks, and of loops the phases at which they stand. A task that belongs to no run is left out. */
export async function stepsOfRuns(
  snapshot: EngineSnapshot,
  tasks: readonly number[],
): Promise<ReadonlyMap<number, StepOfRun>> {
  const { engine } = snapshot;
  const found = new Map<number, StepOfRun>();
  for (const record of tasks.length === 0 ? [] : await engine.store.runGet({ tasks })) {
    if (record === undefined || (record.root === undefined && record.kind === 'task')) continue;
    const [root = record] = record.root === undefined ? [] : await engine.store.runGet({ tasks: [record.root] });
    const own = record.root === undefined && record.kind === LOOP ? await engine.get(record.task) : undefined;
    const payload = own === undefined ? undefined : payloadOf(own);
    const step = payload === undefined ? {} : await ofLoop(snapshot, record.task, payload);
    found.set(record.task, { runId: engine.idOf(root), ...step });
  }
  return found;
}

async function ofLoop(
  snapshot: EngineSnapshot,
  task: number,
  payload: MachinePayload,
): Promise<Required<Omit<StepOfRun, 'runId'>>> {
  const { phase, worktree } = await phaseOf(snapshot, task, payload);
  const { workspace_source: source, repo_url: url, artifact_mode: artifacts } = settingsIn(payload.input);
  const [ref, commit] = [worktree?.branch ?? null, worktree?.commit ?? null];
  return { phase, artifacts, workspace: { source, repo_url: url ?? null, repo_ref: ref, expected_commit: commit } };
}

function wrongState(run: Run, problem: string): Error {
  return fault('CONFLICT', { problem: `the run ${executionIdOf(run)} is ${run.state}: ${problem}` });
}
