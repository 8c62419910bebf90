/** What is asked about the branch of a run: as tasks, which a worker with its root or with git does, and which are waited for with a bound. */
import { fault } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { PlacementInput } from '../../core/placement/placement.ts';
import { isFinal } from '../../core/task/task.ts';
import type { Engine } from '../../engine/engine.ts';
import type { PushRequest } from '../../engine/push/push.ts';
import { isMap, type Value } from '../../flow/expression/values.ts';
import { placementOfClone } from '../../flow/loop/demand.ts';
import { type GitTask, LOOP_GIT } from '../../flow/loop/git/git-task.ts';
import { isClone, type RunWorktree } from '../../flow/loop/git/worktree-state.ts';
import { readWorkspaceName, rootTag } from '../../flow/loop/workspace-name.ts';
import { MACHINE_QUEUE } from '../../flow/machine/machine-run.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { type LoopLook, reviewPrefix } from './loop-look.ts';
import { lookUp } from './loop-runs.ts';

/** A worker that is there answers within a second or two. */
const WAIT_MS = 30_000;
const LOOK_MS = 50;
const TIMEOUT_MS = 120_000;

const FOLDERS_GO =
  'its folders were those of its workers, and went with its attempts; what is left on a host, leasehold workspaces lists and removes there';

interface ReviewBounds {
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What the branch of a run has that its base has not. */
export async function diffLoop(snapshot: EngineSnapshot, id: string, bounds: ReviewBounds = {}): Promise<Value> {
  const look = await lookUp(snapshot, id);
  return review(snapshot.engine, look, { act: 'diff', worktree: worktreeOf(look) }, bounds);
}

/** Into the target of the run; again it answers the same commit. `head`: the commit that was looked at; a branch that has moved since is refused. */
export async function mergeLoop(
  snapshot: EngineSnapshot,
  id: string,
  { head, ...bounds }: ReviewBounds & { readonly head?: string | undefined } = {},
): Promise<string> {
  const look = await lookUp(snapshot, id);
  const worktree = worktreeOf(look);
  refuseUnderWay(look, 'merge');
  if (look.review.status === 'scrapped') throw conflict(look, 'its work was scrapped');
  if (look.status === 'COMPLETED' && look.merged !== undefined) return look.merged;
  const said = await review(
    snapshot.engine,
    look,
    { act: 'merge', worktree, ...(head === undefined ? {} : { head }) },
    bounds,
  );
  const commit = isMap(said) ? said['commit'] : undefined;
  if (typeof commit === 'string') return commit;
  throw fault('INTERNAL', { problem: 'a merge has told no commit' });
}

/** The worktree goes, and the branch. */
export async function scrapLoop(snapshot: EngineSnapshot, id: string, bounds: ReviewBounds = {}): Promise<void> {
  const look = await lookUp(snapshot, id);
  const worktree = worktreeOf(look);
  if (!isFinal(look.run.state)) throw conflict(look, 'cancel it first');
  if (look.merged !== undefined || look.review.status === 'merged') throw conflict(look, 'its work was merged already');
  await review(snapshot.engine, look, { act: 'scrap', worktree }, bounds);
}

/** The worktree of a run that has ended; its branch stays. */
export async function removeWorktree(snapshot: EngineSnapshot, id: string, bounds: ReviewBounds = {}): Promise<void> {
  const look = await lookUp(snapshot, id);
  const worktree = worktreeOf(look);
  if (!isFinal(look.run.state)) throw conflict(look, 'it works there');
  if (isClone(worktree)) throw conflict(look, FOLDERS_GO);
  await review(snapshot.engine, look, { act: 'remove', worktree }, bounds);
}

/** All worktrees of a repository, as its worker finds them. */
export async function worktreesOf(
  { engine }: EngineSnapshot,
  workspace: string,
  bounds: ReviewBounds = {},
): Promise<readonly Value[]> {
  const name = readWorkspaceName(workspace);
  if (typeof name === 'string') throw fault('INVALID_INPUT', { field: 'workspace_root', problem: name });
  const placement = rootedPlacement(workspace);
  await requireWorker(engine, placement);
  const { task } = await engine.push({ ...requestOf({ act: 'list', workspace }, placement), waitTimeout: TIMEOUT_MS });
  const said = await ended(engine, task, 'list', bounds);
  return isMap(said) && Array.isArray(said['worktrees']) ? said['worktrees'] : [];
}

function worktreeOf(look: LoopLook): RunWorktree {
  if (look.worktree !== undefined) return look.worktree;
  throw conflict(look, 'it has no worktree: it works in a plain folder, or has not begun');
}

/** Between two phases of a run that pauses, and after its end, nobody else changes its branch. */
function refuseUnderWay(look: LoopLook, what: string): void {
  const isQuiet = isFinal(look.run.state) || (look.status === 'PAUSED' && look.standsPaused);
  if (!isQuiet) throw conflict(look, `pause it before the ${what}, or wait for its end`);
}

function conflict({ executionId, status }: LoopLook, problem: string): Error {
  return fault('CONFLICT', { problem: `the run ${executionId} is ${status}: ${problem}` });
}

/** An act is asked for once after each phase, however often that is said: its name says so. One that failed is tried again. */
async function review(engine: Engine, { run, steps }: LoopLook, asked: Acted, bounds: ReviewBounds): Promise<Value> {
  const placement = placementOf(asked);
  await requireWorker(engine, placement);
  const started = await engine.runs.start({
    request: requestOf(asked, placement),
    run: {
      kind: LOOP_GIT,
      title: asked.act,
      name: `${reviewPrefix(run.id)}${asked.act}/${steps.length}`,
      labels: { workspace: run.labels['workspace'] ?? '', run: run.id },
    },
  });
  return ended(engine, started.run.task, asked.act, bounds);
}

type Acted = Exclude<GitTask, { readonly act: 'list' }>;

/** Where the repository of a run is worked on. */
function placementOf({ worktree }: Acted): PlacementInput {
  return isClone(worktree) ? placementOfClone(worktree) : rootedPlacement(worktree.repo);
}

function rootedPlacement(workspace: string): PlacementInput {
  const [root = ''] = workspace.split('/');
  return { requires: [rootTag(root)], affinity: `loop:${workspace}` };
}

/** Where nobody could do it, nobody waits for it. */
async function requireWorker({ store, workerStaleMs }: Engine, { requires = [] }: PlacementInput): Promise<void> {
  const { now, members } = await store.workerFleet();
  const [tag = ''] = requires;
  if (members.some(({ enabled, seenAt, tags }) => enabled && now - seenAt <= workerStaleMs && tags.includes(tag)))
    return;
  const root = rootIn(tag);
  throw root === undefined
    ? fault(
        'WORKSPACE_FAILED',
        { problem: `no worker that is online has the tag "${tag}"` },
        { hint: 'Start one with --git-host HOST for the host of the repository.' },
      )
    : fault(
        'WORKSPACE_FAILED',
        { problem: `no worker that is online has the root "${root}"` },
        { hint: `Start one with --loop-root ${root}=FOLDER where the repository is.` },
      );
}

/** Of the tag of a root. */
const rootIn = (tag: string): string | undefined => {
  const [, root = ''] = tag.split('=');
  return tag === rootTag(root) ? root : undefined;
};

function requestOf(asked: GitTask, placement: PlacementInput): PushRequest {
  return {
    queue: MACHINE_QUEUE,
    handler: LOOP_GIT,
    own: true,
    input: asked,
    maxAttempts: 1,
    timeout: TIMEOUT_MS,
    placement,
  };
}

/** Its result. What nobody has done by then is called off, so that it does not happen when nobody thinks of it any more. */
async function ended(
  engine: Engine,
  task: number,
  act: string,
  { waitMs = WAIT_MS, signal }: ReviewBounds,
): Promise<Value> {
  const { clock, timers } = engine.world;
  const until = clock.monotonic() + waitMs;
  while (signal?.aborted !== true && clock.monotonic() < until) {
    const record = await engine.get(task);
    if (record === undefined) break;
    if (isFinal(record.state)) return resultOf(record.state, record.result, act);
    await pause(timers, LOOK_MS, signal === undefined ? {} : { signal });
  }
  await engine.runs.cancel(task, { why: 'nobody waits for it any more' });
  throw fault(
    'TIMEOUT',
    { action: act },
    { hint: 'A worker with the workspace does it, once it has a free slot. Look whether one is online.' },
  );
}

function resultOf(state: string, result: string | undefined, act: string): Value {
  const said = (result === undefined ? undefined : JSON.parse(result)) as Value;
  if (state === 'completed') return said;
  const message = isMap(said) && typeof said['message'] === 'string' ? said['message'] : `the ${act} was ${state}`;
  throw fault('CONFLICT', { problem: message });
}
