/** Makes the workspace of a task from its words, and knows at any time what is on the disk because of whom. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CredentialValue } from '../core/credential/value.ts';
import { fault } from '../core/errors.ts';
import {
  hostAllowed,
  type RemoteRepo,
  type RepoProtocol,
  readRepoAddress,
  SAFE_PROTOCOLS,
} from '../core/workspace/repo-address.ts';
import { slug } from '../core/workspace/run-branch.ts';
import { readWorkspaceSpec } from '../core/workspace/spec.ts';
import type { GitCheckout, WorkspaceSpec } from '../core/workspace/workspace.ts';
import type { Clock, Timers } from '../core/world.ts';
import { archiveFolder } from './archive.ts';
import { withLock } from './git/folder-lock.ts';
import { type GitAccess, openAccess } from './git/git-access.ts';
import { Git, type GitCaps } from './git/git-command.ts';
import { type LookUp, pinnedHost, requireDialled } from './git/host-address.ts';
import { ObjectCache } from './git/object-cache.ts';
import { RemoteBranch } from './git/remote-branch.ts';
import { openRepository } from './git/repository.ts';
import { removeWorkTree } from './git/worktree.ts';
import { checkOutRemote, checkOutRooted, type ReadyCheckout } from './git-workspace.ts';
import { isKey, Records, type WorkspaceRecord } from './record.ts';
import { removeTree } from './remove-tree.ts';
import { workspaceFolder } from './shared-folder.ts';
import type { Workspace } from './workspace.ts';

export interface ResolverOptions {
  /** Everything that is made lies below it. One worker has it for itself. */
  readonly folder: string;
  /** Folders by the names that tasks have for them. */
  readonly roots: ReadonlyMap<string, string>;
  readonly protocols?: readonly RepoProtocol[] | undefined;
  /** `github.com`, `*.example.com`, `git.example.com:8443`; undefined: every host. */
  readonly hosts?: readonly string[] | undefined;
  readonly caps?: Partial<WorkspaceCaps> | undefined;
  /** Keys of hosts for ssh, as a file. */
  readonly knownHosts?: string | undefined;
  readonly credential?: ((name: string) => Promise<CredentialValue>) | undefined;
  readonly clock: Pick<Clock, 'wall'>;
  readonly timers: Timers;
  readonly log?: ((line: string) => void) | undefined;
  /** Where git is found. */
  readonly path?: string | undefined;
  /** Addresses of hosts; default: as this system knows them. */
  readonly lookUp?: LookUp | undefined;
}

export interface WorkspaceCaps extends GitCaps {
  /** Of all that is cached, and for how long nobody may have used it. */
  readonly cacheBytes: number;
  readonly cacheMs: number;
  readonly archiveBytes: number;
}

export interface PrepareCall {
  readonly task: string;
  readonly attempt: number;
  /** Tasks of one run that work on one branch share a folder, one after the other. */
  readonly run?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Reads the credentials of this task, before those of the resolver. */
  readonly credential?: ((name: string) => Promise<CredentialValue>) | undefined;
  /** Commits of the run from another worker. */
  readonly bundle?: string | undefined;
  /** Of a repository of a root: where its worktree lies, such as `../{{ repo }}.{{ run_branch | sanitize }}`. */
  readonly worktree?: string | undefined;
  /** Folders of that repository that need not be clean. */
  readonly mayChange?: readonly string[] | undefined;
  /** Takes the archive of the keep policy `archive`; the file is removed afterwards. Without it, or if it fails, the folder is kept. */
  readonly archive?: ((file: string) => Promise<void>) | undefined;
}

export interface Orphan extends Partial<Omit<WorkspaceRecord, 'key'>> {
  readonly key: string;
}

const CACHE_BYTES = 20 * 1024 ** 3;
const CACHE_MS = 30 * 24 * 3600_000;
const ARCHIVE_BYTES = 2 * 1024 ** 3;

export class WorkspaceResolver {
  readonly #options: ResolverOptions;
  readonly #git: Git;
  readonly #cache: ObjectCache;
  readonly #records: Records;
  /** Keys of folders that are in use, with their attempts. */
  readonly #open = new Map<string, string>();
  #swept: Promise<string> | undefined;

  constructor(options: ResolverOptions) {
    this.#options = options;
    const { folder, protocols, caps, timers, path, clock } = options;
    this.#git = new Git({ folder: join(folder, 'git'), protocols, caps, timers, path });
    this.#cache = new ObjectCache({ git: this.#git, folder: join(folder, 'cache'), clock });
    this.#records = new Records(join(folder, 'records'));
  }

  /** Ready to be worked in, or nothing that counts: `WORKSPACE_FAILED`, `WORKSPACE_MISMATCH`, `INVALID_INPUT`. */
  async prepare(given: WorkspaceSpec, call: PrepareCall): Promise<Workspace> {
    const read = readWorkspaceSpec(given, this.#options.protocols ?? SAFE_PROTOCOLS);
    if (!('spec' in read)) throw refuse(read.problems.join('; '));
    const { spec } = read;
    if (spec.source === 'shared_fs') return this.#shared(spec.path, spec);
    const address = spec.source === 'git' ? this.#address(spec) : undefined;
    const key = keyOf(spec, call);
    const holder = this.#open.get(key);
    if (holder !== undefined) throw fault('WORKSPACE_FAILED', { problem: `its folder is in use by ${holder}` });
    this.#open.set(key, `attempt ${call.attempt} of ${call.task}`);
    try {
      await this.#private();
      return await this.#make(key, spec, address, call);
    } catch (error) {
      // The record stays: what is left of this is an orphan, until the next attempt or a clean-up.
      this.#open.delete(key);
      throw error;
    }
  }

  /** The branch of this checkout where its repository lives. Nothing of it comes to the disk but objects. */
  remote(given: GitCheckout, call: Pick<PrepareCall, 'signal' | 'credential'> = {}): RemoteBranch {
    const read = readWorkspaceSpec(given, this.#options.protocols ?? SAFE_PROTOCOLS);
    if (!('spec' in read)) throw refuse(read.problems.join('; '));
    const spec = read.spec as GitCheckout;
    const address = this.#address(spec);
    const { branch, credential } = spec;
    if (typeof address === 'string' || branch === undefined)
      throw refuse('it is no branch of a repository with an address');
    const open = () => this.#access(credential, address, call);
    return new RemoteBranch({ cache: this.#cache, address, credential, branch, open, signal: call.signal });
  }

  /** The folder of an earlier attempt goes, whatever it was to become; not one in use. */
  async discard(spec: WorkspaceSpec, call: Pick<PrepareCall, 'task' | 'run'>): Promise<void> {
    if (spec.source !== 'shared_fs') await this.clean([keyOf(spec, call)]);
  }

  /** What lies on the disk and belongs to no attempt that lives. */
  async orphans(lives: (record: WorkspaceRecord) => boolean = () => false): Promise<readonly Orphan[]> {
    const records = await this.#records.all();
    const known = new Set(records.map(({ key }) => key));
    const folders = await readdir(join(this.#options.folder, 'work')).catch(() => []);
    const unknown = folders
      .filter((key) => isKey(key) && !known.has(key) && !this.#open.has(key))
      .map((key): Orphan => ({ key }));
    return [...records.filter((one) => !this.#open.has(one.key) && !lives(one)), ...unknown];
  }

  /** Removes these folders; never one in use. Answers those that are gone. */
  async clean(
    keys: readonly string[],
    lives: (record: WorkspaceRecord) => boolean = () => false,
  ): Promise<readonly string[]> {
    const gone: string[] = [];
    for (const key of keys) {
      if (!isKey(key) || this.#open.has(key)) continue;
      this.#open.set(key, 'a clean-up');
      try {
        await withLock(this.#lock, this.#options, async () => {
          const record = await this.#records.read(key);
          if (record !== undefined && lives(record)) return;
          await this.#remove(key);
          gone.push(key);
        });
      } catch (error) {
        this.#options.log?.(`The workspace ${key} could not be removed: ${String(error)}`);
      } finally {
        this.#open.delete(key);
      }
    }
    return gone;
  }

  /** Removes cached repositories that nobody borrows from: those that are old, and the oldest of too many. Answers how many. */
  async pruneCache(): Promise<number> {
    const { cacheBytes = CACHE_BYTES, cacheMs = CACHE_MS } = this.#options.caps ?? {};
    const busy = new Set((await this.#records.all()).map(({ cache }) => cache).filter((name) => name !== undefined));
    return this.#cache.prune({ maxAgeMs: cacheMs, maxBytes: cacheBytes, busy });
  }

  get #lock(): string {
    return join(this.#options.folder, 'records.lock');
  }

  #address(spec: GitCheckout): RemoteRepo | string {
    const address = readRepoAddress(spec.repo, this.#options.protocols ?? SAFE_PROTOCOLS);
    if (typeof address === 'string') throw refuse(`"repo": ${address}`);
    if (address.kind === 'root') return address.name;
    requireDialled(address);
    if (!hostAllowed(address, this.#options.hosts))
      throw refuse(`this worker asks no repository of the host ${address.host}`);
    return address;
  }

  async #shared(path: string, spec: WorkspaceSpec): Promise<Workspace> {
    const folder = await workspaceFolder(this.#options, path);
    return plainWorkspace(spec, folder, true, async () => {});
  }

  async #make(
    key: string,
    spec: Exclude<WorkspaceSpec, { source: 'shared_fs' }>,
    address: RemoteRepo | string | undefined,
    call: PrepareCall,
  ): Promise<Workspace> {
    const { task, attempt, run } = call;
    const credential = spec.source === 'git' ? spec.credential : undefined;
    const cache = typeof address === 'object' ? ObjectCache.nameOf({ address, credential }) : undefined;
    const repository = typeof address === 'string' ? await workspaceFolder(this.#options, address, false) : undefined;
    let record: WorkspaceRecord = {
      key,
      task,
      attempt,
      run,
      state: 'preparing',
      spec,
      cache,
      repository,
      at: this.#options.clock.wall(),
    };
    // A clean-up from the command line looks whether anybody wants it under the same lock.
    const { timers } = this.#options;
    await withLock(this.#lock, { timers, signal: call.signal }, () => this.#records.write(record));
    const work = join(this.#options.folder, 'work');
    await mkdir(join(work, key), { recursive: true, mode: 0o700 });
    const folder = await realpath(join(work, key));
    if (spec.source === 'empty') {
      const path = join(folder, 'tree');
      await removeTree(path);
      await mkdir(path, { mode: 0o700 });
      record = { ...record, state: 'ready', path };
      await this.#records.write(record);
      return plainWorkspace(spec, path, false, (outcome) => this.#close(record, outcome, call));
    }
    const checkout = await this.#checkOut(spec, address as RemoteRepo | string, folder, repository, call);
    const { path, commit, branch } = checkout.tree;
    record = { ...record, state: 'ready', path };
    await this.#records.write(record);
    return {
      spec,
      path,
      commit,
      branch,
      warm: checkout.warm,
      expect: (expected) => checkout.expect(expected),
      diff: () => checkout.diff(),
      commitAll: (message) => checkout.commitAll(message),
      publish: () => checkout.publish(),
      close: (outcome) => this.#close(record, outcome, call),
    };
  }

  async #checkOut(
    spec: GitCheckout,
    address: RemoteRepo | string,
    folder: string,
    repository: string | undefined,
    call: PrepareCall,
  ): Promise<ReadyCheckout> {
    const place = { git: this.#git, cache: this.#cache, folder, spec, signal: call.signal };
    if (typeof address === 'string') {
      const root = await workspaceFolder(this.#options, address.split('/', 1)[0] as string, false);
      return checkOutRooted({
        ...place,
        repository: repository as string,
        root,
        template: call.worktree,
        mayChange: call.mayChange,
      });
    }
    const open = () => this.#access(spec.credential, address, call);
    return checkOutRemote({ ...place, address, bundle: call.bundle, open });
  }

  /** A task names both the repository and the credential: without a list it could have any secret sent to any host. */
  async #access(
    name: string | undefined,
    address: RemoteRepo,
    call: Pick<PrepareCall, 'credential'>,
  ): Promise<GitAccess> {
    const { knownHosts, hosts } = this.#options;
    const credential = call.credential ?? this.#options.credential;
    if (name !== undefined && hosts === undefined)
      throw fault(
        'WORKSPACE_FAILED',
        { problem: 'this worker lists no hosts to which the credentials of workspaces may go' },
        { hint: `Name the host where the worker is started: --git-host ${address.host}.` },
      );
    if (name !== undefined && credential === undefined)
      throw fault('CREDENTIAL_MISSING', {
        credential: name,
        problem: 'this worker gives no credentials to workspaces',
      });
    const value = name === undefined ? undefined : await credential?.(name);
    const pin = () => pinnedHost(address, this.#options.lookUp);
    return openAccess({ folder: await this.#private(), knownHosts, credential: value, pin });
  }

  async #close(
    record: WorkspaceRecord,
    outcome: 'completed' | 'failed' | 'cancelled' | 'lost',
    call: PrepareCall,
  ): Promise<void> {
    const { key, spec } = record;
    const keep = (spec.source === 'shared_fs' ? undefined : spec.keep) ?? 'delete';
    try {
      if (keep === 'keep' || (keep === 'on-failure' && outcome !== 'completed'))
        await this.#records.write({ ...record, state: 'kept' });
      else {
        if (keep === 'archive') await this.#archive(record, call);
        await this.#remove(key);
      }
    } catch (error) {
      this.#options.log?.(`The workspace ${key} stays as an orphan: ${String(error)}`);
      await this.#records.write({ ...record, state: 'failed' }).catch(() => {});
    } finally {
      this.#open.delete(key);
    }
  }

  async #archive({ path }: WorkspaceRecord, { archive }: PrepareCall): Promise<void> {
    if (archive === undefined || path === undefined)
      throw fault('WORKSPACE_FAILED', { problem: 'nobody takes its archive' });
    const folder = await mkdtemp(join(await this.#private(), 'archive-'));
    try {
      const file = join(folder, 'workspace.tar.gz');
      await archiveFolder(path, file, this.#options.caps?.archiveBytes ?? ARCHIVE_BYTES);
      await archive(file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** A folder for keys and archives on their way. What a killed process has left in it goes first. */
  #private(): Promise<string> {
    const folder = join(this.#options.folder, 'private');
    this.#swept ??= (async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      for (const name of await readdir(folder))
        if (/^(?:access|archive)-/.test(name)) await rm(join(folder, name), { recursive: true, force: true });
      return folder;
    })();
    return this.#swept;
  }

  /** The files, and what the repository of a root knows of them; never a branch. */
  async #remove(key: string): Promise<void> {
    const record = await this.#records.read(key);
    if (record?.repository !== undefined) {
      const path = record.path ?? join(await realpath(join(this.#options.folder, 'work', key)), 'tree');
      const repository = await openRepository(this.#git, record.repository).catch(() => undefined);
      if (repository !== undefined) await removeWorkTree(repository, path).catch(ifNone);
    }
    await removeTree(join(this.#options.folder, 'work', key));
    await this.#records.remove(key);
  }
}

type Outcome = 'completed' | 'failed' | 'cancelled' | 'lost';

function plainWorkspace(
  spec: WorkspaceSpec,
  path: string,
  warm: boolean,
  close: (outcome: Outcome) => Promise<void>,
): Workspace {
  const none = { additions: 0, deletions: 0 };
  return {
    spec,
    path,
    warm,
    expect: () => Promise.reject(refuse('it is no repository, so it is at no commit')),
    diff: async () => ({ base_ref: '', head_ref: '', commits: [], files: [], stats: none, truncated: false }),
    commitAll: () => Promise.reject(refuse('it is no repository, so nothing can be committed')),
    publish: async () => ({ how: 'none' }),
    close,
  };
}

/** The name of a folder: of a branch of a run, or of one task. */
function keyOf(spec: WorkspaceSpec, { run, task }: Pick<PrepareCall, 'task' | 'run'>): string {
  const shared = spec.source === 'git' && spec.branch !== undefined;
  const whose = shared ? (run ?? task) : task;
  const what = spec.source === 'git' ? `${spec.repo}\n${spec.branch ?? ''}` : spec.source;
  const hash = createHash('sha256').update(`${whose}\n${shared}\n${what}`).digest('hex').slice(0, 16);
  return `${slug(whose).slice(0, 60)}-${hash}`;
}

function ifNone(error: unknown): void {
  if ((error as { readonly code?: string }).code !== 'NOT_FOUND') throw error;
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'workspace', problem });
}
