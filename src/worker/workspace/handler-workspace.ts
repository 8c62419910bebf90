import { fault } from '../../core/errors.ts';
import type { GitCheckout, WorkspaceSpec } from '../../core/workspace/workspace.ts';
import type { RemoteBranch } from '../../workspace/git/remote-branch.ts';
import type { Published, WorkspaceDiff } from '../../workspace/workspace.ts';

/** The folder that was prepared for a run. Its working directory stays as it is. */
export interface TaskWorkspace extends PreparedWorkspace {
  /** What was changed since it was prepared: commits, and what is not committed. Bounded. */
  diff(): Promise<WorkspaceDiff>;
  /** Commits all that was changed, and answers the commit; undefined: nothing was. */
  commitAll(message: string): Promise<string | undefined>;
  /** Hands the commits of the branch on now. What a run has committed when it ends well is handed on in any case. */
  publish(): Promise<PublishedWork>;
}

export interface PreparedWorkspace {
  /** Absolute. */
  readonly path: string;
  /** Of `git`: the commit that was checked out, and the branch of the run if it has one. */
  readonly commit?: string;
  readonly branch?: string;
  /** The worker had it, or its objects, from before. */
  readonly warm: boolean;
}

export interface PublishedWork {
  readonly how: Published['how'];
  readonly commit?: string;
  /** The artifact with the bundle. */
  readonly artifact?: string;
}

/** Where a run finds its workspace, in this process or in that of its worker. */
export interface WorkspaceReader extends Pick<TaskWorkspace, 'diff' | 'commitAll' | 'publish'> {
  prepare(spec: WorkspaceSpec): Promise<PreparedWorkspace>;
  /** What runs in the process of the worker has this besides. */
  readonly hosted?: HostedWorkspace | undefined;
}

/** What a run that goes on for many steps asks of the workspace of its attempt. */
export interface HostedWorkspace {
  /** Refuses with `WORKSPACE_MISMATCH` unless the folder is on its branch, which is this commit or has gone on from it. */
  expect(commit: string): Promise<void>;
  /** The branch where its repository lives. No folder is needed for it. */
  remote(spec: GitCheckout): Promise<RemoteBranch>;
  /** The folder of this checkout goes now, also that of an earlier attempt here. Rejects where it could not. */
  leave(spec: GitCheckout): Promise<void>;
}

/** What a definition says of its workspace: words, or words that follow from its input. Undefined: this run needs none. */
export type WorkspaceWish<Input> = WorkspaceSpec | ((input: Input) => WorkspaceSpec | undefined);

export const specOf = (wish: WorkspaceWish<never>, input: unknown): WorkspaceSpec | undefined =>
  typeof wish === 'function' ? wish(input as never) : wish;

export const noWorkspaces = (): Error =>
  fault('WORKSPACE_FAILED', {
    problem: 'its worker makes no workspaces; give one of the library the option "workspaces"',
  });

/** Ready before the handler begins. */
export async function openWorkspace(spec: WorkspaceSpec, reader: WorkspaceReader | undefined): Promise<TaskWorkspace> {
  if (reader === undefined) throw noWorkspaces();
  const prepared = await reader.prepare(spec);
  return Object.freeze({
    ...prepared,
    diff: () => reader.diff(),
    commitAll: (message: string) => reader.commitAll(message),
    publish: () => reader.publish(),
  });
}
