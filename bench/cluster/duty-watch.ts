/** Looks at who holds which duty while nodes come and go. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

const LOOK_MS = 10;
const LEADER = 'leader';
const ASKED = `SELECT name, split_part(holder, '/', 1) AS node, epoch::int AS epoch
  FROM leasehold.duty WHERE until >= leasehold.now_ms()`;

interface Held {
  readonly name: string;
  readonly node: string;
  readonly epoch: number;
}

/** Times are spans between two looks: they are too long by up to that. */
export interface Watched {
  /** Who led, in order. */
  readonly leaders: readonly string[];
  /** The longest that nobody led. */
  readonly leaderlessMs: number;
  /** The same of any duty, and which one it was. */
  readonly unheldMs: number;
  readonly unheld: string;
}

export class DutyWatch {
  readonly #client: Client;
  readonly #seen = new Map<string, number>();
  readonly #longest = new Map<string, number>();
  readonly #terms = new Map<number, string>();
  #over = false;
  #looking: Promise<void> = Promise.resolve();

  private constructor(place: string) {
    this.#client = new Client({ connectionString: place });
  }

  static async start(place: string): Promise<DutyWatch> {
    const watch = new DutyWatch(place);
    await watch.#client.connect();
    watch.#looking = watch.#look();
    return watch;
  }

  async stop(): Promise<Watched> {
    this.#over = true;
    await this.#looking;
    await this.#client.end();
    const duties = [...this.#longest].filter(([name]) => name !== LEADER).toSorted((a, b) => b[1] - a[1]);
    const [unheld = '', unheldMs = 0] = duties[0] ?? [];
    return { leaders: [...this.#terms.values()], leaderlessMs: this.#longest.get(LEADER) ?? 0, unheldMs, unheld };
  }

  async #look(): Promise<void> {
    while (!this.#over) {
      const { rows } = await this.#client.query<Held>(ASKED);
      const now = performance.now();
      for (const { name, node, epoch } of rows) {
        const gap = now - (this.#seen.get(name) ?? now);
        this.#longest.set(name, Math.max(this.#longest.get(name) ?? 0, gap));
        this.#seen.set(name, now);
        if (name === LEADER) this.#terms.set(epoch, node);
      }
      await delay(LOOK_MS);
    }
    // What nobody has taken up by now counts too.
    const now = performance.now();
    for (const [name, seen] of this.#seen) {
      this.#longest.set(name, Math.max(this.#longest.get(name) ?? 0, now - seen));
    }
  }
}
