/**
 * The branch of a run where its repository lives, without any files of it on this disk: what it was begun from, what it has changed, and its merge.
 * All of it is computed in the cache of the worker, where no program of a run writes, and a merge counts only when the server has taken it.
 */
import { fault, isEngineError } from '../../core/errors.ts';
import type { RemoteRepo } from '../../core/workspace/repo-address.ts';
import type { WorkspaceDiff } from '../workspace.ts';
import { type DiffBounds, diffCommits } from './diff.ts';
import { deleteBranch, pushBranch } from './exchange.ts';
import type { GitAccess } from './git-access.ts';
import { type Joined, joinCommits, type Merged, type MergeStrategy } from './merge.ts';
import type { ObjectCache } from './object-cache.ts';
import { branchRef, commitOf, defaultBranch, type Repository, resolveRef } from './repository.ts';

interface BranchPlace {
  readonly cache: ObjectCache;
  readonly address: RemoteRepo;
  readonly credential?: string | undefined;
  /** The branch of the run. */
  readonly branch: string;
  readonly open: () => Promise<GitAccess>;
  readonly signal?: AbortSignal | undefined;
}

/** What a branch was begun from. */
interface BranchStart {
  /** A branch, a tag or a commit. */
  readonly base: string;
  /** The base if that is a branch, else the default branch of the repository. */
  readonly target: string;
  /** The newest commit that both of them have. */
  readonly commit: string;
}

interface RemoteMergeWish {
  readonly strategy: MergeStrategy;
  /** What is merged; undefined: what the branch is at its server. */
  readonly commit?: string | undefined;
  /** It is made from `base` if it is not there. */
  readonly target: string;
  readonly base: string;
  readonly message: string;
}

/** Others push to the target as well: whoever comes too late computes the merge again. */
const MOST_TRIES = 6;

export class RemoteBranch {
  readonly #place: BranchPlace;

  constructor(place: BranchPlace) {
    this.#place = place;
  }

  /** `commit`: what it has, which was fetched already. */
  async start(base: string | undefined, commit: string): Promise<BranchStart> {
    return this.#kept(async (cache) => {
      const standard = await defaultBranch(cache);
      const from = base ?? standard;
      const found = await resolveRef(cache, from, this.#call);
      if (found === undefined) throw missing(from);
      const isBranch = (await commitOf(cache, branchRef(from), this.#call)) !== undefined;
      const { code, out } = await cache.git.run(['merge-base', found, commit], {
        ...this.#call,
        dir: cache.dir,
        codes: [1],
      });
      return { base: from, target: isBranch ? from : standard, commit: code === 0 ? out.trim() : commit };
    });
  }

  /** Asks the server. Undefined: it has no such branch. */
  async head(): Promise<string | undefined> {
    await this.#fetch();
    return this.#kept((cache) => commitOf(cache, branchRef(this.#place.branch), this.#call));
  }

  /** Of what was fetched already. */
  diff(base: string, head: string, bounds: DiffBounds): Promise<WorkspaceDiff> {
    return this.#kept(async (cache) => {
      for (const commit of [base, head])
        if ((await commitOf(cache, commit, this.#call)) === undefined) throw missing(commit);
      return diffCommits(cache, base, head, bounds);
    });
  }

  /** A conflict changes nothing. A target that has moved meanwhile is fetched, and merged with again. */
  async merge(wish: RemoteMergeWish): Promise<Merged> {
    const { branch } = this.#place;
    if (wish.strategy === 'none') return { outcome: 'none' };
    if (wish.target === branch)
      throw fault('INVALID_INPUT', { field: 'merge target', problem: 'it is the branch of the run itself' });
    for (let tries = 1; ; tries++) {
      await this.#fetch();
      const join = await this.#kept((cache) => this.#join(cache, wish));
      if ('files' in join) return { outcome: 'conflict', target: wish.target, files: join.files };
      const { commit, before, changed } = join;
      const outcome = changed ? 'merged' : 'unchanged';
      if (commit === before) return { outcome, target: wish.target, commit };
      try {
        await this.#push(wish.target, commit, before);
        return { outcome, target: wish.target, commit };
      } catch (error) {
        this.#place.signal?.throwIfAborted();
        if (!isEngineError(error) || tries === MOST_TRIES || !(await this.#hasMoved(wish.target, before))) throw error;
      }
    }
  }

  /** Removes the branch from the server, where it is still this commit. */
  async remove(commit: string): Promise<void> {
    const { address, branch, signal } = this.#place;
    await this.#access((access) =>
      this.#kept((cache) => deleteBranch(cache, { address, branch, before: commit, access, signal })),
    );
  }

  /** The branch on which the repository stands, as its server says. */
  standard(): Promise<string> {
    return this.#kept(defaultBranch);
  }

  async #join(
    cache: Repository,
    { commit, target, base, strategy, message }: RemoteMergeWish,
  ): Promise<Joined & { readonly before?: string | undefined }> {
    const { branch, signal } = this.#place;
    const theirs = await commitOf(cache, commit ?? branchRef(branch), this.#call);
    if (theirs === undefined) throw missing(commit ?? branch);
    const before = await commitOf(cache, branchRef(target), this.#call);
    const ours = before ?? (await resolveRef(cache, base, this.#call));
    if (ours === undefined) throw missing(base);
    return { ...(await joinCommits(cache, { ours, theirs, strategy, message, signal })), before };
  }

  async #push(target: string, commit: string, before: string | undefined): Promise<void> {
    const { address, signal } = this.#place;
    await this.#access((access) =>
      this.#kept((cache) => pushBranch(cache, { address, branch: target, commit, before, access, signal })),
    );
  }

  async #hasMoved(target: string, before: string | undefined): Promise<boolean> {
    await this.#fetch();
    return (await this.#kept((cache) => commitOf(cache, branchRef(target), this.#call))) !== before;
  }

  async #fetch(): Promise<void> {
    const { cache, address, credential, signal } = this.#place;
    await this.#access((access) => cache.fetch({ address, credential, access, signal }));
  }

  #kept<T>(work: (cache: Repository) => Promise<T>): Promise<T> {
    const { cache, address, credential, signal } = this.#place;
    return cache.use({ address, credential }, signal, work);
  }

  async #access<T>(call: (how: GitAccess) => Promise<T>): Promise<T> {
    const how = await this.#place.open();
    try {
      return await call(how);
    } finally {
      await how.close();
    }
  }

  get #call(): { readonly signal: AbortSignal | undefined } {
    return { signal: this.#place.signal };
  }
}

const missing = (name: string): Error =>
  fault('WORKSPACE_FAILED', { problem: `the repository has no branch, tag or commit ${JSON.stringify(name)}` });
