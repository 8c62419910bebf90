/**
 * A run whose repository lives elsewhere. Each attempt at it has a folder that its worker makes of its cache; what a phase has left is on the branch of
 * the run at the server before the phase counts, so that any worker goes on from there.
 */
import { fault, isEngineError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import { runBranch } from '../../core/workspace/run-branch.ts';
import type { GitCheckout } from '../../core/workspace/workspace.ts';
import type { LoopGitConfig } from '../../flow/loop/git/git-keys.ts';
import type { ClonedWorktree } from '../../flow/loop/git/worktree-state.ts';
import type { Merged } from '../../workspace/git/merge.ts';
import type { HookedRun } from '../machine/machine-hooks.ts';
import type { HostedWorkspace, PreparedWorkspace, WorkspaceReader } from '../workspace/handler-workspace.ts';
import { hookedLoops, logLine } from './hooked-loop.ts';
import type { LoopHost } from './loop-host.ts';
import type { MergeOfRun, RunPlace } from './run-place.ts';

type Host = Pick<LoopHost, 'timers'>;

/** A server that does not answer is asked again, while the lease of the attempt is renewed. */
const TRIES = 4;
const FIRST_PAUSE_MS = 1000;

/** Makes the branch of a run, and shows that the server takes it, before anybody is asked to work. */
export async function openClonedRun(
  host: Host,
  { name, config }: { readonly name: string; readonly config: LoopGitConfig },
): Promise<ClonedWorktree> {
  const { repo_url: url = '', credential, run_branch_prefix: prefix, merge_strategy: strategy } = config;
  const made = runBranch(name, prefix);
  if (typeof made === 'string') throw fault('INVALID_INPUT', { field: 'run_branch_prefix', problem: made });
  const { branch } = made;
  const ref = config.base_branch ?? config.repo_ref;
  const keep = config.worktree_cleanup ? {} : ({ keep: true } as const);
  const own = { url, ...(credential === undefined ? {} : { credential }), ...keep, branch };
  const spec = { ...checkoutOf(own), ...(ref === undefined ? {} : { ref }) };
  const attempt = attemptNow();
  const { commit } = await opened(host, attempt, spec);
  if (commit === undefined) throw fault('WORKSPACE_FAILED', { problem: 'the repository has no commit' });
  const begun = await (await attempt.hosted.remote(spec)).start(ref, commit);
  const target = config.merge_target_branch ?? begun.target;
  if (strategy !== 'none' && target === branch)
    throw fault('INVALID_INPUT', { field: 'merge_target_branch', problem: 'it is the branch of the run itself' });
  await published(host, attempt);
  return { ...own, base: begun.base, target, strategy, base_commit: begun.commit, commit };
}

export class ClonedRun implements RunPlace {
  readonly #host: Host;
  readonly #tree: ClonedWorktree;

  constructor(host: Host, tree: ClonedWorktree) {
    this.#host = host;
    this.#tree = tree;
  }

  async folder(): Promise<string> {
    const { commit } = this.#tree;
    const attempt = attemptNow();
    const { path } = await opened(this.#host, attempt, { ...checkoutOf(this.#tree), commit });
    await attempt.hosted.expect(commit);
    return path;
  }

  async commit(message: string): Promise<string> {
    const attempt = attemptNow();
    await this.folder();
    await attempt.workspaces.commitAll(message);
    return published(this.#host, attempt);
  }

  async merge({ strategy, message, commit }: MergeOfRun): Promise<Merged> {
    const { target, base } = this.#tree;
    const attempt = attemptNow();
    const remote = await attempt.hosted.remote(checkoutOf(this.#tree));
    return patiently(this.#host, attempt, () => remote.merge({ strategy, message, commit, target, base }));
  }

  async remove(): Promise<void> {
    await attemptNow().hosted.leave(checkoutOf(this.#tree));
  }
}

/** Pushed or nothing: another worker finds the work at the server alone. */
export function checkoutOf({
  url,
  branch,
  credential,
  keep,
}: Pick<ClonedWorktree, 'url' | 'branch' | 'credential' | 'keep'>): GitCheckout {
  return {
    source: 'git',
    repo: url,
    branch,
    publish: 'push',
    keep: keep === true ? 'keep' : 'delete',
    ...(credential === undefined ? {} : { credential }),
  };
}

interface AttemptNow {
  readonly run: HookedRun;
  readonly workspaces: WorkspaceReader;
  readonly hosted: HostedWorkspace;
}

function attemptNow(): AttemptNow {
  const run = hookedLoops.getStore();
  const workspaces = run?.workspaces;
  const hosted = workspaces?.hosted;
  if (run !== undefined && workspaces !== undefined && hosted !== undefined) return { run, workspaces, hosted };
  throw fault(
    'WORKSPACE_FAILED',
    { problem: 'a loop with workspace_source "git" runs on workers that make workspaces, and this is none' },
    { hint: 'Start it on a node with a worker that names the host of the repository: --git-host HOST.' },
  );
}

/** An attempt has one folder, which is made with the first phase of it that needs one. */
const folders = new WeakMap<HookedRun, Promise<PreparedWorkspace>>();

async function opened(host: Host, attempt: AttemptNow, spec: GitCheckout): Promise<PreparedWorkspace> {
  const { run, workspaces } = attempt;
  const known = folders.get(run);
  if (known !== undefined) return known;
  const opening = patiently(host, attempt, () => workspaces.prepare(spec));
  folders.set(run, opening);
  try {
    const made = await opening;
    logLine(`the folder of ${spec.branch} is ready at ${made.commit}${made.warm ? ', warm' : ''}`);
    return made;
  } catch (error) {
    folders.delete(run);
    throw error;
  }
}

async function published(host: Host, attempt: AttemptNow): Promise<string> {
  const { commit } = await patiently(host, attempt, () => attempt.workspaces.publish());
  if (commit === undefined) throw fault('WORKSPACE_FAILED', { problem: 'the branch of the run has no commit' });
  return commit;
}

/** What git says when it has reached nobody; a refusal of the server is another failure, and stays one. */
const ON_THE_WAY = /^git (?:fetch|ls-remote|push): /;

async function patiently<T>({ timers }: Host, { run }: AttemptNow, call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      run.stop.throwIfAborted();
      const problem = isEngineError(error, 'WORKSPACE_FAILED') ? String(error.details?.['problem']) : '';
      if (tries === TRIES || !ON_THE_WAY.test(problem)) throw error;
      logLine(`${problem}; it is tried again`);
      await pause(timers, FIRST_PAUSE_MS * 2 ** (tries - 1), { signal: run.stop });
    }
  }
}
