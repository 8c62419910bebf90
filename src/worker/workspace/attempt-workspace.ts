import { createHash } from 'node:crypto';
import { lstat, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CredentialValue } from '../../core/credential/value.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { REPO_PROTOCOLS, readRepoAddress } from '../../core/workspace/repo-address.ts';
import { readWorkspaceSpec } from '../../core/workspace/spec.ts';
import type { GitCheckout, WorkspaceSpec } from '../../core/workspace/workspace.ts';
import type { Clock } from '../../core/world.ts';
import type { RemoteBranch } from '../../workspace/git/remote-branch.ts';
import type { Workspace, WorkspaceDiff } from '../../workspace/workspace.ts';
import { contentOf } from '../artifacts/artifact-file.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import type { CredentialReader } from '../credentials/handler-credentials.ts';
import type { HostedWorkspace, PreparedWorkspace, PublishedWork, WorkspaceReader } from './handler-workspace.ts';
import type { WorkspaceStock } from './workspace-stock.ts';

export interface AttemptWorkspaceOptions {
  readonly stock: Pick<WorkspaceStock, 'resolver' | 'tidy'>;
  /** The public id of the task. */
  readonly task: string;
  readonly attempt: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly artifacts: () => ArtifactReader;
  /** Undefined: the placement of the task names none, or its worker holds none. */
  readonly credentials: CredentialReader | undefined;
  /** Adds a line to the log of the task. */
  readonly log: (line: string) => void;
}

type WorkspaceEnd = Parameters<Workspace['close']>[0];

const ARCHIVE_NAME = 'workspace.tar.gz';
const LONGEST_MESSAGE = 64 * 1024;

/** The workspace of one attempt, in its worker. It has one at most. */
export class AttemptWorkspace implements WorkspaceReader {
  readonly #options: AttemptWorkspaceOptions;
  readonly #over = new AbortController();
  readonly hosted: HostedWorkspace = {
    expect: (commit) => this.#use((workspace) => workspace.expect(commit)),
    remote: (spec) => this.#remote(spec),
    leave: (spec) => this.#leave(spec),
  };
  #preparing: Promise<Workspace> | undefined;
  /** The last call that uses the folder: it is closed only after that. */
  #using: Promise<unknown> = Promise.resolve();
  #bundled: PublishedWork | undefined;
  #left = false;

  constructor(options: AttemptWorkspaceOptions) {
    this.#options = options;
  }

  async prepare(given: WorkspaceSpec): Promise<PreparedWorkspace> {
    if (this.#preparing !== undefined) throw fault('CONFLICT', { problem: 'this attempt has a workspace already' });
    // Its words are read on this side: a child process may say anything.
    const read = readWorkspaceSpec(given);
    if (!('spec' in read)) throw fault('INVALID_INPUT', { field: 'workspace', problem: read.problems.join('; ') });
    const preparing = this.#prepare(read.spec);
    this.#preparing = preparing;
    const { path, commit, branch, warm } = await preparing.catch((error: unknown) => {
      // A server comes back: what could not be prepared may be asked for again.
      this.#preparing = undefined;
      throw error;
    });
    return {
      path,
      ...(commit === undefined ? {} : { commit }),
      ...(branch === undefined ? {} : { branch }),
      warm,
    };
  }

  diff(): Promise<WorkspaceDiff> {
    return this.#use((workspace) => workspace.diff());
  }

  commitAll(message: string): Promise<string | undefined> {
    const wrong = typeof message !== 'string' || message.trim() === '' || message.length > LONGEST_MESSAGE;
    if (wrong) throw fault('INVALID_INPUT', { field: 'message', problem: 'a commit needs a message, and a short one' });
    return this.#use((workspace) => workspace.commitAll(message));
  }

  publish(): Promise<PublishedWork> {
    return this.#use((workspace) => this.#publish(workspace));
  }

  /** The run was told to stop: what is being prepared or sent ends at once. */
  stop(): void {
    this.#over.abort(fault('WORKSPACE_FAILED', { problem: 'the attempt was stopped' }));
  }

  /** Never rejects. The folder goes its way once nothing uses it any more. */
  async close(outcome: WorkspaceEnd): Promise<void> {
    if (outcome !== 'completed') this.stop();
    const workspace = await this.#preparing?.catch(() => undefined);
    if (workspace === undefined || this.#left) return;
    await this.#using;
    await workspace.close(outcome);
    this.#options.stock.tidy();
  }

  async #prepare(spec: WorkspaceSpec): Promise<Workspace> {
    const { stock, task, attempt, clock, log } = this.#options;
    const { signal } = this.#over;
    const startedAt = clock.monotonic();
    log(`workspace: preparing ${shown(spec)}`);
    const resolver = await stock.resolver();
    const bundle = spec.source === 'git' ? await this.#handedOver(spec) : undefined;
    signal.throwIfAborted();
    try {
      const workspace = await resolver.prepare(spec, {
        task,
        attempt,
        signal,
        credential: (name) => this.#credential(name),
        archive: (file) => this.#archive(file),
        ...(bundle === undefined ? {} : { bundle }),
      });
      const took = ((clock.monotonic() - startedAt) / 1000).toFixed(1);
      const at = workspace.commit === undefined ? '' : ` at ${workspace.commit}`;
      log(`workspace: ready${at} after ${took} s${workspace.warm ? ', warm' : ''}`);
      return workspace;
    } finally {
      if (bundle !== undefined) await rm(bundle, { force: true });
    }
  }

  async #remote(spec: GitCheckout): Promise<RemoteBranch> {
    const resolver = await this.#options.stock.resolver();
    const { signal } = this.#over;
    signal.throwIfAborted();
    return resolver.remote(spec, { signal, credential: (name) => this.#credential(name) });
  }

  async #leave(spec: GitCheckout): Promise<void> {
    const { stock, task } = this.#options;
    const workspace = await this.#preparing?.catch(() => undefined);
    if (workspace === undefined) return (await stock.resolver()).discard(spec, { task });
    await this.#using;
    this.#left = true;
    await workspace.close('completed');
    stock.tidy();
    if ((await lstat(workspace.path).catch(() => undefined)) === undefined) return;
    throw fault(
      'WORKSPACE_FAILED',
      { problem: 'its folder could not be removed' },
      { hint: 'leasehold workspaces lists what is left on this host, and removes it.' },
    );
  }

  #credential(name: string): Promise<CredentialValue> {
    const { credentials } = this.#options;
    if (credentials?.names.includes(name) === true) return credentials.read(name);
    throw fault('CREDENTIAL_MISSING', { credential: name, problem: 'the placement of the task does not name it' });
  }

  async #archive(path: string): Promise<void> {
    const { artifacts, log } = this.#options;
    const content = await contentOf(path);
    const type = 'application/gzip';
    const { id } = await artifacts().put({ name: ARCHIVE_NAME, path, type, kind: 'file', ...content });
    log(`workspace: archived as ${id}`);
  }

  /** Commits of the branch that an earlier task of the tree has left as a bundle. */
  async #handedOver(spec: GitCheckout): Promise<string | undefined> {
    const name = bundleName(spec);
    if (name === undefined || spec.publish === 'none') return undefined;
    const artifacts = this.#options.artifacts();
    try {
      const found = await artifacts.find({ name, run: true });
      if (found.kind !== 'bundle') return undefined;
      this.#options.log(`workspace: taking up the commits of ${found.id}`);
      const file = join((await artifacts.room()).folder, `${found.id}.bundle`);
      await artifacts.fetch(found, file);
      return file;
    } catch (error) {
      // Without a place for files nobody can have left one.
      if (isEngineError(error, 'UNSUPPORTED') || isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async #publish(workspace: Workspace): Promise<PublishedWork> {
    const { how, commit, bundle } = await workspace.publish();
    const { log, artifacts } = this.#options;
    const name = workspace.spec.source === 'git' ? bundleName(workspace.spec) : undefined;
    if (bundle === undefined) {
      if (how === 'pushed') log(`workspace: ${commit} is on the branch ${workspace.branch}`);
      return { how, ...(commit === undefined ? {} : { commit }) };
    }
    try {
      if (this.#bundled !== undefined && this.#bundled.commit === commit) return this.#bundled;
      const content = await contentOf(bundle, this.#over.signal);
      const type = 'application/x-git-bundle';
      const file = { name: name ?? 'workspace.bundle', path: bundle, type, kind: 'bundle' as const, ...content };
      const { id } = await artifacts().put(file);
      log(`workspace: ${commit} is in the bundle ${id}`);
      this.#bundled = { how, ...(commit === undefined ? {} : { commit }), artifact: id };
      return this.#bundled;
    } finally {
      await rm(dirname(bundle), { recursive: true, force: true });
    }
  }

  /** One call after the other: git locks what it writes. */
  #use<T>(call: (workspace: Workspace) => Promise<T>): Promise<T> {
    const preparing = this.#left ? undefined : this.#preparing;
    if (preparing === undefined) return Promise.reject(fault('CONFLICT', { problem: 'this attempt has no workspace' }));
    const used = this.#using.then(async () => {
      this.#over.signal.throwIfAborted();
      return call(await preparing);
    });
    this.#using = used.catch(() => undefined);
    return used;
  }
}

/** Tasks of one tree find the commits of a branch by this name. Undefined: they leave by no bundle. */
function bundleName({ repo, branch }: GitCheckout): string | undefined {
  const address = readRepoAddress(repo, REPO_PROTOCOLS);
  if (branch === undefined || typeof address === 'string' || address.kind !== 'remote') return undefined;
  const hash = createHash('sha256').update(`${address.url}\n${branch}`).digest('hex');
  return `workspace/${hash.slice(0, 16)}.bundle`;
}

/** For the log. An address has no secret in it: one that has is refused before. */
function shown(spec: WorkspaceSpec): string {
  if (spec.source === 'empty') return 'an empty folder';
  if (spec.source === 'shared_fs') return spec.path;
  return spec.branch === undefined ? spec.repo : `${spec.repo} on the branch ${spec.branch}`;
}

/** What the folder hears: an attempt without its lease has not ended for its task. */
export function workspaceEnd(ended: string, stopped: string | undefined, yielded: string | undefined): WorkspaceEnd {
  if (yielded !== undefined)
    return yielded === 'completed' || yielded === 'failed' || yielded === 'cancelled' ? yielded : 'lost';
  if (stopped === 'lost' || stopped === 'away') return 'lost';
  if (stopped === 'cancelled') return 'cancelled';
  return ended === 'done' && stopped !== 'timeout' ? 'completed' : 'failed';
}
