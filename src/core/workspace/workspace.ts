/**
 * Where a task works: a folder that its worker prepares for it. A task says what it wants in these words; the worker decides where that lies on its disk.
 */
export type WorkspaceSpec = SharedFolder | GitCheckout | EmptyFolder;

/** A folder that the operator of the worker has named, and folders below it: `main/shop`. It stays when the task is over. */
export interface SharedFolder {
  readonly source: 'shared_fs';
  readonly path: string;
}

/** A worktree of a repository at a commit, or on a branch of the run. */
export interface GitCheckout {
  readonly source: 'git';
  /** An address of https or ssh without any secret in it, or `main/shop`: a repository below a root of the worker. */
  readonly repo: string;
  /** A branch, tag or commit to begin with; default: the default branch of the repository. */
  readonly ref?: string | undefined;
  /** The commit that must be checked out before anything begins: anything else is refused with `WORKSPACE_MISMATCH`. */
  readonly commit?: string | undefined;
  /** The branch of the run: made from `ref` if it is not there, checked out if it is. Undefined: no branch, a detached commit. */
  readonly branch?: string | undefined;
  /** The name of a credential that the worker reads the repository with. */
  readonly credential?: string | undefined;
  /** Default: pushed where the repository takes it, else bundled to the artifacts of the task. `none`: commits stay on the worker. */
  readonly publish?: 'push' | 'bundle' | 'none' | undefined;
  readonly keep?: KeepPolicy | undefined;
}

/** A fresh directory. */
export interface EmptyFolder {
  readonly source: 'empty';
  readonly keep?: KeepPolicy | undefined;
}

/**
 * What becomes of the folder when its task is over. `delete`: it goes (the default); `keep`: it stays until somebody removes it; `archive`: its files
 * become an artifact, and then it goes; `on-failure`: it stays only if the task has not completed.
 */
export type KeepPolicy = 'delete' | 'keep' | 'archive' | 'on-failure';
