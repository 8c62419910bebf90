import { sourceTag } from '../../core/workspace/worker-tag.ts';
import { rootTag } from '../../core/workspace/workspace-name.ts';
import type { World } from '../../core/world.ts';
import type { WorkspaceResolver } from '../../workspace/resolver.ts';
import { gitProblem } from './git-version.ts';
import type { WorkspaceSettings } from './workspace-settings.ts';

type Warn = (message: string, error?: unknown, about?: Readonly<Record<string, unknown>>) => void;

const PRUNE_MS = 3600_000;

/** What a worker has for its attempts. Nothing is made or loaded before the first of them asks. */
export class WorkspaceStock {
  readonly #settings: WorkspaceSettings;
  readonly #world: World;
  readonly #warn: Warn;
  #opened: Promise<Opened> | undefined;
  #prunedAt = Number.NEGATIVE_INFINITY;
  #pruning: Promise<unknown> | undefined;

  constructor(settings: WorkspaceSettings, world: World, warn: Warn) {
    this.#settings = settings;
    this.#world = world;
    this.#warn = warn;
  }

  /** The tags by which tasks find it. What is missing is told once. */
  async tags(): Promise<readonly string[]> {
    const { roots, path, untagged = false } = this.#settings;
    // Its tags were given by its node, or nobody has asked it to offer any: no program is started for them.
    if (untagged) return [];
    const problem = await gitProblem(path);
    if (problem !== undefined)
      this.#warn(`this worker makes no workspaces of git: ${problem}`, undefined, { tag: sourceTag('git') });
    const git = problem === undefined ? [sourceTag('git')] : [];
    return [sourceTag('empty'), ...git, ...[...roots.keys()].map(rootTag)];
  }

  async resolver(): Promise<WorkspaceResolver> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      // A folder that cannot be made today may be made tomorrow.
      this.#opened = undefined;
      throw error;
    });
    return (await this.#opened).resolver;
  }

  /** After a workspace was closed: what nobody borrows from any more may go, now and then. */
  tidy(): void {
    const now = this.#world.clock.monotonic();
    if (this.#opened === undefined || now - this.#prunedAt < PRUNE_MS) return;
    this.#prunedAt = now;
    this.#pruning = this.#opened
      .then(({ resolver }) => resolver.pruneCache())
      .catch((error: unknown) => this.#warn('the cache of repositories could not be pruned', error));
  }

  /** The place is free for another worker. */
  async close(): Promise<void> {
    await this.#pruning;
    const opened = await this.#opened?.catch(() => undefined);
    opened?.leave();
  }

  async #open(): Promise<Opened> {
    const { folder, roots, protocols, hosts, caps, path } = this.#settings;
    const { clock, timers } = this.#world;
    const [{ takePlace }, { WorkspaceResolver: Resolver }] = await Promise.all([
      import('../../workspace/place.ts'),
      import('../../workspace/resolver.ts'),
    ]);
    const place = await takePlace(folder);
    const resolver = new Resolver({
      folder: place.folder,
      roots,
      protocols,
      hosts,
      caps,
      path,
      clock,
      timers,
      log: (line) => this.#warn(line),
    });
    return { resolver, leave: () => place.leave() };
  }
}

interface Opened {
  readonly resolver: WorkspaceResolver;
  readonly leave: () => void;
}
