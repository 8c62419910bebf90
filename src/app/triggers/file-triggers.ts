import { createHash } from 'node:crypto';
import { opendir, realpath, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, sep } from 'node:path';
import { fits } from '../../core/trigger/told.ts';
import type { Trigger } from '../../core/trigger/trigger.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Log } from '../../engine/log.ts';
import type { Happening } from '../../engine/triggers/firing.ts';
import type { StoredTrigger } from '../../engine/triggers/triggers.ts';

export interface FileTriggersOptions {
  readonly engine: Engine;
  readonly log: Log;
  /** Folders below which folders may be watched. */
  readonly roots: readonly string[];
  /** The id of this node; undefined: it is none. */
  readonly node: string | undefined;
  /** Whether it is to act now; an observer does not. */
  readonly acts?: () => boolean;
}

const LOOK_MS = 1000;
/** A look that takes long comes less often: it may take a twentieth of the time. */
const SHARE = 20;
/** Times of files come from a clock that ticks at most so often, and may lie that long in the past. */
const TICK_MS = 20;
const MOST_FILES = 10_000;
const MOST_AT_ONCE = 50;
const KEYS_PAGE = 500;
/** As long as the file is there. */
const KEEP_MS = Number.MAX_SAFE_INTEGER;

interface Found {
  readonly key: string;
  readonly version: string;
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly modifiedAt: number;
}

/** What is known of a trigger's files, for one revision of it. */
interface Watch {
  readonly revision: number;
  /** Versions that were acted on, by key. */
  readonly known: Map<string, string>;
  /** Versions that were there at the last look: a file that is still written has another one. */
  seen: ReadonlyMap<string, string>;
}

/**
 * Watches folders of this host, below the roots that it was started with. A version of a file, its time and size, fires once: its key is in
 * the store, so that a restart and another process on the same host know it. A file counts when it is as it was at the look before. What is
 * older than its trigger was there already. Links are not followed.
 */
export class FileTriggers {
  readonly #options: FileTriggersOptions;
  readonly #watches = new Map<string, Watch>();
  readonly #warned = new Set<string>();
  #cancel = (): void => {};
  #looking: Promise<number> = Promise.resolve(0);
  #stopped = false;

  constructor(options: FileTriggersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#plan(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#looking;
  }

  /** One look at all folders; answers how many files have fired. Looks follow each other. */
  look(): Promise<number> {
    this.#looking = this.#looking.then(() => this.#lookAll());
    return this.#looking;
  }

  #plan(afterMs: number): void {
    if (this.#stopped) return;
    const { timers, clock } = this.#options.engine.world;
    this.#cancel = timers.after(
      afterMs,
      () => {
        const since = clock.monotonic();
        void this.look().then(() => this.#plan(Math.max(LOOK_MS, SHARE * (clock.monotonic() - since))));
      },
      { unref: true },
    );
  }

  /** Never rejects: what goes wrong is warned of once. */
  async #lookAll(): Promise<number> {
    const { engine, node, acts = () => true } = this.#options;
    if (this.#stopped || !acts()) return 0;
    let fired = 0;
    try {
      const all = (await engine.triggers.list('file')).filter(({ enabled, trigger }) => {
        return enabled && (trigger.node === undefined || trigger.node === node);
      });
      const names = new Set(all.map(({ trigger }) => trigger.name));
      for (const name of this.#watches.keys()) if (!names.has(name)) this.#watches.delete(name);
      for (const one of all) fired += await this.#lookAt(one).catch((error: unknown) => this.#warn(one, error));
    } catch (error) {
      this.#warn(undefined, error);
    }
    return fired;
  }

  async #lookAt(one: StoredTrigger): Promise<number> {
    const { trigger, createdAt } = one;
    const folder = await this.#allowed(trigger.folder as string);
    if (folder === undefined) throw new Error(`${trigger.folder} is not below a root that this node may watch`);
    const watch = await this.#watchOf(one);
    const files = await filesIn(folder, trigger, createdAt);
    const seen = new Map(files.map(({ key, version }) => [key, version]));
    const ripe = files.filter(
      ({ key, version }) => watch.seen.get(key) === version && watch.known.get(key) !== version,
    );
    watch.seen = seen;
    const forget = [...watch.known.keys()].filter((key) => !seen.has(key));
    if (ripe.length === 0 && forget.length === 0) return 0;
    return this.#fire(one, watch, ripe, forget);
  }

  async #fire(one: StoredTrigger, watch: Watch, ripe: readonly Found[], forget: readonly string[]): Promise<number> {
    const { triggers } = this.#options.engine;
    const now: Found[] = [];
    for (const file of ripe.slice(0, MOST_AT_ONCE)) {
      // More than its pace: the next look finds them again.
      if (triggers.takePace(one.trigger) > 0) break;
      now.push(file);
    }
    const fired = await triggers.deliver(one, now.map(happeningOf), { forget });
    if (fired === undefined) return 0;
    for (const key of forget) watch.known.delete(key);
    for (const [i, { fresh, outcome }] of fired.entries()) {
      const { key, version } = now[i] as Found;
      // What was refused or could not be planned has taken no key, and is tried again.
      if (!fresh || (outcome !== 'refused' && outcome !== 'failed')) watch.known.set(key, version);
    }
    return fired.filter(({ fresh, outcome }) => fresh && outcome !== 'refused' && outcome !== 'failed').length;
  }

  async #watchOf({ trigger: { name }, revision }: StoredTrigger): Promise<Watch> {
    const before = this.#watches.get(name);
    if (before?.revision === revision) return before;
    const known = new Map<string, string>();
    for (let after = ''; ; ) {
      const page = await this.#options.engine.store.reactionKeys({ name, prefix: PREFIX, after, limit: KEYS_PAGE });
      for (const { key, version } of page) known.set(key, version);
      if (page.length < KEYS_PAGE) break;
      after = (page.at(-1) as { key: string }).key;
    }
    const watch: Watch = { revision, known, seen: before?.seen ?? new Map() };
    this.#watches.set(name, watch);
    return watch;
  }

  /** The real path of a folder below one of the roots; undefined: it is elsewhere, whatever links say. */
  async #allowed(folder: string): Promise<string | undefined> {
    const real = await realpath(folder);
    for (const root of this.#options.roots) {
      const top = await realpath(root).catch(() => undefined);
      if (top !== undefined && (real === top || real.startsWith(top.endsWith(sep) ? top : top + sep))) return real;
    }
    return undefined;
  }

  #warn(one: StoredTrigger | undefined, error: unknown): number {
    const words = `${one?.trigger.name ?? ''} ${one?.revision ?? ''} ${String(error)}`;
    if (this.#warned.has(words)) return 0;
    if (this.#warned.size >= 1000) this.#warned.clear();
    this.#warned.add(words);
    this.#options.log.warn('the files of a trigger cannot be watched', {
      trigger: one?.trigger.name,
      error: error instanceof Error ? error.message : String(error),
    });
    return 0;
  }
}

/** Of this host: a path says nothing on another one. */
const PREFIX = `file:${createHash('sha256').update(hostname()).digest('hex').slice(0, 12)}:`;

async function filesIn(folder: string, { match }: Trigger, createdAt: number): Promise<readonly Found[]> {
  const found: Found[] = [];
  let looked = 0;
  for await (const entry of await opendir(folder)) {
    if (++looked > MOST_FILES)
      throw new Error(`${folder} has more than ${MOST_FILES} entries; move what is done elsewhere`);
    if (!entry.isFile() || (match !== undefined && !fits(match, entry.name))) continue;
    const path = join(folder, entry.name);
    // It may have gone since.
    const is = await stat(path).catch(() => undefined);
    // A copy may keep the time of what it was made from, but not that of its own change.
    if (is === undefined || Math.max(is.mtimeMs, is.ctimeMs) < createdAt - TICK_MS) continue;
    const key = `${PREFIX}${createHash('sha256').update(path).digest('hex').slice(0, 32)}`;
    const version = `${Math.floor(is.mtimeMs * 1000)}:${is.size}`;
    found.push({ key, version, name: entry.name, path, size: is.size, modifiedAt: Math.floor(is.mtimeMs) });
  }
  return found;
}

function happeningOf({ key, version, name, path, size, modifiedAt }: Found): Happening {
  return { key, version, keepMs: KEEP_MS, about: `file ${name}`, told: { path, name, size, modifiedAt } };
}
