/**
 * One bare repository for each address, below the cache folder of the worker. Runs borrow its objects and never write into it; only fetches do, one at a
 * time. A fetch that was killed leaves files that the next one removes.
 */
import { createHash } from 'node:crypto';
import { access, glob, mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../core/errors.ts';
import { isCommit, readBranch } from '../../core/workspace/ref.ts';
import type { RemoteRepo } from '../../core/workspace/repo-address.ts';
import type { Clock } from '../../core/world.ts';
import { withLock } from './folder-lock.ts';
import type { GitAccess } from './git-access.ts';
import type { Git, GitCall } from './git-command.ts';
import { branchRef, commitOf, createBareRepository, type Repository } from './repository.ts';

export interface CacheOptions {
  readonly git: Git;
  readonly folder: string;
  readonly clock: Pick<Clock, 'wall'>;
}

export interface CacheSource {
  readonly address: RemoteRepo;
  /** The name of the credential that it is read with: who names another one, or none, has no use of what this one has brought. */
  readonly credential?: string | undefined;
}

export interface CacheWish extends CacheSource {
  /** A commit that is enough: if it is there already, nobody is asked. */
  readonly commit?: string | undefined;
  readonly access: GitAccess;
  readonly signal?: AbortSignal | undefined;
}

export interface CachedRepository extends Repository {
  /** It had objects before this call. */
  readonly warm: boolean;
  /** It was asked for what is new. */
  readonly fetched: boolean;
}

const MOST_PACKS = 50;

export class ObjectCache {
  readonly #git: Git;
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'wall'>;

  constructor({ git, folder, clock }: CacheOptions) {
    this.#git = git;
    this.#folder = folder;
    this.#clock = clock;
  }

  /** The name of the folder of an address. It tells nothing about the address. */
  static nameOf({ address, credential = '' }: CacheSource): string {
    return createHash('sha256').update(`${address.url}\n${credential}`).digest('hex').slice(0, 32);
  }

  /** The repository with what the remote one has now. */
  async fetch(wish: CacheWish): Promise<CachedRepository> {
    return this.use(wish, wish.signal, async (repository, warm) => {
      const enough = wish.commit !== undefined && (await commitOf(repository, wish.commit, wish)) !== undefined;
      if (!enough) await this.#fetch(repository, wish);
      return { ...repository, warm, fetched: !enough };
    });
  }

  /** Does something with the repository of an address while nobody else changes it. */
  async use<T>(
    source: CacheSource,
    signal: AbortSignal | undefined,
    work: (repository: Repository, warm: boolean) => Promise<T>,
  ): Promise<T> {
    const place = join(this.#folder, ObjectCache.nameOf(source));
    await mkdir(place, { recursive: true, mode: 0o700 });
    return withLock(join(place, 'lock'), { timers: this.#git.timers, signal }, async () => {
      const repository = await this.#open(place);
      const before = await hasObjects(repository);
      const now = new Date(this.#clock.wall());
      await writeFile(join(place, 'used'), `${source.address.url}\n`);
      await utimes(join(place, 'used'), now, now);
      return work(repository, before);
    });
  }

  /** Removes what was not used for so long, and then the longest unused until the rest is small enough. `busy`: names that are borrowed from. */
  async prune({
    maxAgeMs,
    maxBytes,
    busy,
  }: {
    readonly maxAgeMs: number;
    readonly maxBytes: number;
    readonly busy: ReadonlySet<string>;
  }): Promise<number> {
    const found: Array<{ readonly place: string; readonly usedAt: number; readonly bytes: number }> = [];
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const place = join(this.#folder, name);
      if (!(await isThere(join(place, 'repo.git')))) continue;
      const usedAt = (await stat(join(place, 'used')).catch(() => stat(place))).mtimeMs;
      if (!busy.has(name)) found.push({ place, usedAt, bytes: await sizeOf(place) });
    }
    found.sort((a, b) => b.usedAt - a.usedAt);
    let [kept, removed] = [0, 0];
    for (const { place, usedAt, bytes } of found) {
      kept += bytes;
      if (this.#clock.wall() - usedAt <= maxAgeMs && kept <= maxBytes) continue;
      kept -= bytes;
      removed += 1;
      // The lock stays: somebody may wait for it.
      await withLock(join(place, 'lock'), { timers: this.#git.timers }, () =>
        rm(join(place, 'repo.git'), { recursive: true, force: true }),
      );
    }
    return removed;
  }

  async #open(place: string): Promise<Repository> {
    const dir = join(place, 'repo.git');
    const repository = { git: this.#git, dir };
    const there = await isThere(join(dir, 'HEAD'));
    if (there) {
      await removeLeftovers(dir);
      return repository;
    }
    const making = join(place, 'making.git');
    for (const one of [making, dir]) await rm(one, { recursive: true, force: true });
    await createBareRepository(this.#git, making);
    await rename(making, dir);
    return repository;
  }

  async #fetch(repository: Repository, { address, commit, access: how, signal }: CacheWish): Promise<void> {
    const { git, dir } = repository;
    const call: GitCall = { dir, access: how, signal };
    const fetch = [
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      '--no-auto-maintenance',
      '--no-recurse-submodules',
    ];
    const refs = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'];
    await git.run([...fetch, '--prune', '--', address.url, ...refs], call).catch(async (error: unknown) => {
      const tooMuch = await hasFullFile(dir, git.caps.maxBytes);
      // At once: nobody may ask for this repository again.
      await removeLeftovers(dir);
      throw tooMuch
        ? fault('WORKSPACE_FAILED', { problem: `more came than the ${git.caps.maxBytes} bytes that this worker takes` })
        : error;
    });
    // Of a commit that no branch has; many servers give it to who knows its name.
    if (commit !== undefined && isCommit(commit) && (await commitOf(repository, commit)) === undefined)
      await git.run([...fetch, '--', address.url, `${commit}:refs/asked/${commit}`], { ...call, codes: [1, 128] });
    const { out } = await git.run(['ls-remote', '--symref', '--', address.url, 'HEAD'], {
      ...call,
      maxOutput: 64 * 1024,
    });
    const head = readBranch(/^ref: refs\/heads\/(.+)\tHEAD$/m.exec(out)?.[1] ?? 'main');
    if (typeof head !== 'string') await git.run(['symbolic-ref', 'HEAD', branchRef(head.branch)], { dir });
    const packs = (await readdir(join(dir, 'objects', 'pack'))).filter((name) => name.endsWith('.pack'));
    // Nothing is dropped: runs may have borrowed it.
    if (packs.length > MOST_PACKS) await git.run(['repack', '-a', '-d', '-k', '--quiet'], { dir, signal });
  }
}

/** Of a git that was killed. Whoever has the lock of the folder is the only one that writes here. */
async function removeLeftovers(dir: string): Promise<void> {
  for await (const name of glob(
    [
      '*.lock',
      'refs/**/*.lock',
      'objects/pack/tmp_*',
      'objects/pack/.tmp-*',
      'objects/incoming-*',
      'objects/??/tmp_obj_*',
    ],
    { cwd: dir },
  ))
    await rm(join(dir, name), { recursive: true, force: true });
}

export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Whether a fetch has ended at the bound of its file; the program that wrote it dies without a word. */
async function hasFullFile(dir: string, maxBytes: number): Promise<boolean> {
  for await (const name of glob('objects/pack/{tmp_*,.tmp-*}', { cwd: dir }))
    if ((await stat(join(dir, name))).size >= maxBytes) return true;
  return false;
}

async function hasObjects({ dir }: Repository): Promise<boolean> {
  const packs = await readdir(join(dir, 'objects', 'pack')).catch(() => []);
  return packs.some((name) => name.endsWith('.pack'));
}

/** Bytes of all files of a folder. What goes away meanwhile does not count. */
export async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  return bytes;
}
