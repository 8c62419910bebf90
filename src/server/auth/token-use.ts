import type { World } from '../../core/world.ts';

/** A token is noted as used at most this often. */
const NOTE_MS = 60_000;
/** Tokens that come in use meanwhile are noted in one write. */
const GATHER_MS = 1000;
/** Beyond so many the one that was noted longest ago is forgotten, and noted again with its next use. */
const MOST_KNOWN = 10_000;

/**
 * Notes when tokens are used, so that people see which of them nobody needs. A use costs the look at a map; the write comes
 * later, for all of them, at most once a minute for each. A note that fails is lost: the next use makes another.
 */
export class TokenUse {
  readonly #world: World;
  readonly #note: (ids: readonly number[]) => Promise<void>;
  /** When each was noted last, the longest ago first. */
  readonly #notedAt = new Map<number, number>();
  #pending = new Set<number>();
  #cancel: (() => void) | undefined;

  constructor(world: World, note: (ids: readonly number[]) => Promise<void>) {
    this.#world = world;
    this.#note = note;
  }

  used(token: number | undefined): void {
    if (token === undefined) return;
    const now = this.#world.clock.monotonic();
    const noted = this.#notedAt.get(token);
    if (noted !== undefined && now - noted < NOTE_MS) return;
    this.#notedAt.delete(token);
    this.#notedAt.set(token, now);
    if (this.#notedAt.size > MOST_KNOWN) this.#notedAt.delete(this.#notedAt.keys().next().value as number);
    this.#pending.add(token);
    this.#cancel ??= this.#world.timers.after(GATHER_MS, () => this.#write(), { unref: true });
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #write(): void {
    this.#cancel = undefined;
    const ids = [...this.#pending];
    this.#pending = new Set();
    this.#note(ids).catch(() => {});
  }
}
