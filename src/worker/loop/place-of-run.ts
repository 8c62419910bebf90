/** Finds where a run works, by what its context says of its worktree. */
import { fault } from '../../core/errors.ts';
import type { Value } from '../../flow/expression/values.ts';
import { isClone, type RootedWorktree, type RunWorktree, worktreeIn } from '../../flow/loop/git/worktree-state.ts';
import type { LoopInput } from '../../flow/loop/loop-input.ts';
import type { Merged } from '../../workspace/git/merge.ts';
import { workspaceFolder } from '../../workspace/shared-folder.ts';
import { ClonedRun, openClonedRun } from './cloned-run.ts';
import { hookedLoops } from './hooked-loop.ts';
import type { LoopHost } from './loop-host.ts';
import type { MergeOfRun, RunPlace } from './run-place.ts';
import { commitPhase, mergeRun, openRunWorktree, removeRunWorktree, worktreeFolder } from './run-worktree.ts';

/** The worktree that a run is to have; undefined: it works in the plain folder. */
export function openPlace(host: LoopHost, input: LoopInput): Promise<RunWorktree | undefined> {
  const { workspace, config } = input;
  const run = hookedLoops.getStore();
  const name = input.name ?? run?.executionId ?? 'run';
  if (config.workspace_source === 'git') return openClonedRun(host, { name, config });
  return openRunWorktree(host, { workspace, name, config }, run?.stop);
}

export const placeOfRun = (host: LoopHost, tree: RunWorktree): RunPlace =>
  isClone(tree) ? new ClonedRun(host, tree) : new RootedRun(host, tree);

/** The folder of a run, with a worktree or without one. */
export async function folderOfRun(
  host: LoopHost,
  workspace: string,
  worktree: Value,
  signal?: AbortSignal,
): Promise<string> {
  const tree = worktreeIn(worktree);
  if (tree !== undefined) return placeOfRun(host, tree).folder(signal);
  if (worktree === undefined || worktree === null) return workspaceFolder(host, workspace);
  throw fault('WORKSPACE_FAILED', { problem: 'its context says of its worktree what cannot be' });
}

class RootedRun implements RunPlace {
  readonly #host: LoopHost;
  readonly #tree: RootedWorktree;

  constructor(host: LoopHost, tree: RootedWorktree) {
    this.#host = host;
    this.#tree = tree;
  }

  async folder(signal?: AbortSignal): Promise<string> {
    return (await worktreeFolder(this.#host, this.#tree, signal)).path;
  }

  async commit(message: string, signal?: AbortSignal): Promise<string> {
    const tree = await worktreeFolder(this.#host, this.#tree, signal);
    return commitPhase(tree, this.#tree.branch, message, signal);
  }

  merge({ strategy, message, signal }: MergeOfRun): Promise<Merged> {
    return mergeRun(this.#host, this.#tree, { strategy, message, ...(signal === undefined ? {} : { signal }) });
  }

  remove(): Promise<void> {
    return removeRunWorktree(this.#host, this.#tree);
  }
}
