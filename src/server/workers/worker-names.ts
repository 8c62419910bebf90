import { nameTaken } from '../../core/placement/name-hold.ts';
import type { World } from '../../core/world.ts';
import type { Engine } from '../../engine/engine.ts';

/** Whoever speaks under a name at this node: a connection, or a session of calls. */
export interface NameHolder {
  /** Name and incarnation. */
  readonly holder: string;
  /** It calls, and may do so at several nodes in turn. A connection is at one node. */
  readonly roams: boolean;
  /** The store has given it the name. */
  entered?: boolean;
  /** Nothing is heard from it any more, so that another may take its name. */
  isSilent: () => boolean;
  /** Another connection has taken its place. */
  readonly replaced: () => void;
}

export interface WorkerNamesOptions {
  readonly store: Pick<Engine['store'], 'nameHolders' | 'nameLeave'>;
  readonly world: Pick<World, 'timers'>;
  /** Names this process. */
  readonly process: string;
}

/** Less than a second, so that together with the read it is one. */
const POLL_MS = 800;

/**
 * One name has one holder, over every link and in the whole cluster. The same incarnation replaces its own; another one waits until the
 * name is free. Between the workers of this node that is decided here, between nodes by the store, in the write by which a worker
 * registers (`keepsName`). One read a second finds those whose name was given to another node, and ends them.
 */
export class WorkerNames {
  readonly #options: WorkerNamesOptions;
  readonly #holders = new Map<string, NameHolder>();
  /** Names that are being given back to the store. */
  readonly #leaving = new Map<string, Promise<void>>();
  #stopPolling: (() => void) | undefined;

  constructor(options: WorkerNamesOptions) {
    this.#options = options;
  }

  take(name: string, by: NameHolder): void {
    const before = this.#holders.get(name);
    if (before === by) return;
    if (before !== undefined && before.holder !== by.holder && !before.isSilent()) throw nameTaken(name);
    this.#holders.set(name, by);
    before?.replaced();
  }

  /** Registers whoever has taken the name here. `register` is refused if another node has somebody of that name. */
  async enter<T>(name: string, by: NameHolder, register: () => Promise<T>): Promise<T> {
    // What an earlier connection gives back late would be what this one got.
    await this.#leaving.get(name);
    const registered = await register();
    const holder = this.#holders.get(name);
    if (holder === by) by.entered = true;
    // It has hung up meanwhile, and nobody else has come.
    else if (holder === undefined) this.#leave(name, by);
    this.#pollLater();
    return registered;
  }

  /** False: the name has another holder by now. */
  release(name: string, by: NameHolder): boolean {
    if (this.#holders.get(name) !== by) return false;
    this.#holders.delete(name);
    if (by.entered === true) this.#leave(name, by);
    return true;
  }

  /** Resolves when the names that were released are free for other nodes. */
  async close(): Promise<void> {
    this.#stopPolling?.();
    await Promise.all(this.#leaving.values());
  }

  #leave(name: string, { holder }: NameHolder): void {
    const { store, process } = this.#options;
    const left = store
      .nameLeave({ name, holder, process })
      // The store hears no more of it, and that frees the name too.
      .catch(() => {})
      .finally(() => {
        if (this.#leaving.get(name) === left) this.#leaving.delete(name);
      });
    this.#leaving.set(name, left);
  }

  #pollLater(): void {
    this.#stopPolling ??= this.#options.world.timers.after(
      POLL_MS,
      () =>
        void this.#poll().finally(() => {
          this.#stopPolling = undefined;
          if (this.#holders.size > 0) this.#pollLater();
        }),
      { unref: true },
    );
  }

  async #poll(): Promise<void> {
    const held = [...this.#holders].filter(([, by]) => by.entered === true && !by.isSilent());
    if (held.length === 0) return;
    const names = held.map(([name]) => name);
    // A store that does not answer says nothing about them.
    const found = await this.#options.store.nameHolders({ names }).catch(() => undefined);
    for (const [i, [name, by]] of held.entries()) {
      if (found === undefined || this.#holders.get(name) !== by) continue;
      const { holder, process } = found[i] ?? {};
      if (holder === by.holder && (by.roams || process === this.#options.process)) continue;
      this.#holders.delete(name);
      by.replaced();
    }
  }
}
