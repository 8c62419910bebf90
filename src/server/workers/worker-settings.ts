import { isDecided, type WorkerGrant } from '../../core/placement/worker-grant.ts';
import type { World } from '../../core/world.ts';
import type { Engine } from '../../engine/engine.ts';

/** The settings of a worker's name. */
export interface WorkerSetting {
  readonly enabled: boolean;
  /** Replaces the worker's own. */
  readonly priority: number | undefined;
  /** Tags that the name was given. */
  readonly tags: readonly string[];
  readonly grant: WorkerGrant;
}

/** What is needed of the engine. */
interface SettingsOf {
  readonly store: Pick<Engine['store'], 'workerSettings'>;
  readonly workers: Pick<Engine['workers'], 'set'>;
}

type Settings = ReadonlyMap<string, WorkerSetting>;

interface Watcher {
  readonly name: string;
  known: WorkerSetting;
  readonly listener: (setting: WorkerSetting) => void;
}

const DEFAULT_SETTING: WorkerSetting = { enabled: true, priority: undefined, tags: [], grant: {} };
/** Less than a second, so that together with the read it is one. */
const POLL_MS = 800;

/**
 * The settings of all workers that are connected to this node. Concurrent callers share one read. While a worker is
 * connected, one read a second finds the settings that have changed.
 */
export class WorkerSettings {
  readonly #engine: SettingsOf;
  readonly #world: World;
  readonly #watchers = new Set<Watcher>();
  #known: { readonly at: number; readonly all: Settings } | undefined;
  #reading: Promise<Settings> | undefined;
  #next: Promise<Settings> | undefined;
  #stopPolling: (() => void) | undefined;

  constructor(engine: SettingsOf, world: World) {
    this.#engine = engine;
    this.#world = world;
  }

  /** The setting now: a change before this call is in the answer. */
  async of(name: string): Promise<WorkerSetting> {
    return (await this.#read()).get(name) ?? DEFAULT_SETTING;
  }

  /**
   * The setting of a name that joins. Where nobody has said what it may run, it is what it offers now, for good: who takes its secret
   * later is given no tasks of other handlers.
   */
  async ofJoining(name: string, offered: readonly string[]): Promise<WorkerSetting> {
    const setting = await this.of(name);
    if (isDecided(setting.grant)) return setting;
    await this.#engine.workers.set({ name, grant: { firstHandlers: offered } });
    return this.of(name);
  }

  /** The setting as it was less than a second ago. */
  async recent(name: string): Promise<WorkerSetting> {
    const { at, all } = this.#known ?? { at: Number.NEGATIVE_INFINITY };
    const known = this.#world.clock.monotonic() - at < POLL_MS ? all : undefined;
    return (known ?? (await this.#read())).get(name) ?? DEFAULT_SETTING;
  }

  /** Calls back when the setting differs from what the worker knows. Returns a function that stops this. */
  watch(name: string, known: WorkerSetting, listener: (setting: WorkerSetting) => void): () => void {
    const watcher = { name, known, listener };
    this.#watchers.add(watcher);
    this.#pollLater();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size > 0) return;
      this.#stopPolling?.();
      this.#stopPolling = undefined;
    };
  }

  /** A read under way may have begun before a change that its caller must see, so all later callers share the next read. */
  #read(): Promise<Settings> {
    if (this.#reading === undefined) return this.#begin();
    this.#next ??= this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<Settings> {
    // Before the read: a change that comes while it is under way may not be in it.
    const at = this.#world.clock.monotonic();
    this.#reading = this.#engine.store
      .workerSettings()
      .then((rows) => {
        const all = new Map(rows.map(({ name, ...setting }) => [name, setting]));
        this.#known = { at, all };
        return all;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  #pollLater(): void {
    this.#stopPolling ??= this.#world.timers.after(
      POLL_MS,
      () => {
        this.#stopPolling = undefined;
        if (this.#watchers.size > 0) this.#pollLater();
        // A store that does not answer says nothing about workers.
        void this.#read().then(
          (all) => this.#notify(all),
          () => {},
        );
      },
      { unref: true },
    );
  }

  #notify(all: Settings): void {
    for (const watcher of this.#watchers) {
      const now = all.get(watcher.name) ?? DEFAULT_SETTING;
      if (isSame(now, watcher.known)) continue;
      watcher.known = now;
      watcher.listener(now);
    }
  }
}

function isSame(a: WorkerSetting, b: WorkerSetting): boolean {
  const sameTags = a.tags.join('\n') === b.tags.join('\n');
  return a.enabled === b.enabled && a.priority === b.priority && sameTags && sameHandlers(a.grant, b.grant);
}

function sameHandlers(a: WorkerGrant, b: WorkerGrant): boolean {
  return a.anyHandler === b.anyHandler && a.handlers?.join('\n') === b.handlers?.join('\n');
}
