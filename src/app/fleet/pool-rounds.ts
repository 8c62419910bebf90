import type { World } from '../../core/world.ts';
import type { Engine } from '../../engine/engine.ts';

export interface RoundsOptions {
  readonly engine: Pick<Engine, 'pools' | 'listen' | 'store'>;
  readonly world: Pick<World, 'timers' | 'random' | 'clock'>;
  /** Looks at a pool; resolves to after how long time alone may change something. */
  readonly check: (pool: string) => Promise<number | undefined>;
  readonly onTrouble: (pool: string, error: unknown) => void;
}

/** The first tasks of a process come first. */
const FIRST_MS = 1000;
/** Pools of other processes are met so late. One of this process is met at once. */
const MEET_MS = 30_000;
/** After a commit. Each worker of a pool has these rounds too: the more there are, the longer each of them waits. */
const SOON_MS = 100;
const EVERY_MS = 5000;
const LEAST_MS = 50;

/**
 * Looks at each pool when this process or another one has committed something, and from time to time. No process is needed for it, and any
 * number of them may do it: what a check starts is bounded by the store.
 */
export class PoolRounds {
  readonly #options: RoundsOptions;
  readonly #dueAt = new Map<string, number>();
  readonly #ends: (() => void)[] = [];
  #cancel = (): void => {};
  #wakeAt = Number.POSITIVE_INFINITY;
  #meetAt: number;
  #running: Promise<void> | undefined;
  #crowd = 0;
  #over = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
    const { engine, world } = options;
    this.#meetAt = world.clock.monotonic() + FIRST_MS;
    const stir = (): void => this.stir();
    this.#ends.push(
      engine.pools.onChange(() => this.#meet()),
      engine.listen({ committed: stir }),
      engine.store.watch({ wanted: () => this.#dueAt.size > 0, onChange: stir }),
    );
    this.#wake(this.#meetAt);
  }

  /** Something was committed. */
  stir(): void {
    if (this.#dueAt.size === 0) return;
    const at = this.#options.world.clock.monotonic() + this.#pause(SOON_MS * (1 + this.#crowd));
    for (const [name, due] of this.#dueAt) if (due > at) this.#dueAt.set(name, at);
    this.#wake(at);
  }

  async close(): Promise<void> {
    this.#over = true;
    this.#cancel();
    for (const end of this.#ends) end();
    await this.#running;
  }

  #meet(): void {
    this.#meetAt = this.#options.world.clock.monotonic();
    this.#wake(this.#meetAt);
  }

  #wake(at: number): void {
    if (this.#over || at >= this.#wakeAt) return;
    const { clock, timers } = this.#options.world;
    this.#cancel();
    this.#wakeAt = at;
    this.#cancel = timers.after(Math.max(0, at - clock.monotonic()), () => this.#begin(), { unref: true });
  }

  #begin(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    // The round under way looks once more when it ends.
    if (this.#running !== undefined) return;
    this.#running = this.#round().finally(() => {
      this.#running = undefined;
      this.#wake(Math.min(this.#meetAt, ...this.#dueAt.values()));
    });
  }

  async #round(): Promise<void> {
    const { clock } = this.#options.world;
    if (clock.monotonic() >= this.#meetAt) await this.#list();
    const now = clock.monotonic();
    for (const [name, dueAt] of this.#dueAt) if (dueAt <= now && !this.#over) await this.#check(name);
  }

  async #list(): Promise<void> {
    const { engine, world } = this.#options;
    const now = world.clock.monotonic();
    this.#meetAt = now + this.#pause(MEET_MS);
    try {
      const names = new Set((await engine.pools.list()).map(({ name }) => name));
      for (const name of this.#dueAt.keys()) if (!names.has(name)) this.#dueAt.delete(name);
      for (const name of names) if (!this.#dueAt.has(name)) this.#dueAt.set(name, now);
    } catch {
      // The store is away, and whoever needs it says so.
    }
  }

  async #check(name: string): Promise<void> {
    const { check, onTrouble, world } = this.#options;
    this.#dueAt.set(name, world.clock.monotonic() + this.#pause(EVERY_MS));
    try {
      const againMs = await check(name);
      if (againMs === undefined) return;
      const at = world.clock.monotonic() + Math.max(LEAST_MS, againMs);
      if (at < (this.#dueAt.get(name) ?? 0)) this.#dueAt.set(name, at);
    } catch (error) {
      onTrouble(name, error);
    }
  }

  /** Told by the last check: how many workers look at pools besides this process. */
  set crowd(workers: number) {
    this.#crowd = workers;
  }

  #pause(ms: number): number {
    return ms * (0.75 + this.#options.world.random() / 2);
  }
}
