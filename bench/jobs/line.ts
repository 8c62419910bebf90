/** The line between a child and the bench: a few messages over IPC. */
import { setTimeout as delay } from 'node:timers/promises';

/** What a child tells. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'progress'; readonly count: number }
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'error'; readonly message: string };

/** What a child is told. `at`: monotonic µs at which all children of a barrier begin. */
export type Order = { readonly kind: 'go'; readonly at: number } | { readonly kind: 'stop' };

/** The monotonic clock in µs, the same in all processes of the machine. */
export const micros = (): number => Number(process.hrtime.bigint()) / 1000;

export class Line {
  readonly #go = Promise.withResolvers<number>();
  readonly #stop = Promise.withResolvers<void>();

  constructor() {
    process.on('message', (order: Order) => (order.kind === 'go' ? this.#go.resolve(order.at) : this.#stop.resolve()));
  }

  tell(report: Report): void {
    process.send?.(report);
  }

  /** Says that everything is open, and waits for the common start. */
  async barrier(): Promise<number> {
    this.tell({ kind: 'ready' });
    const at = await this.#go.promise;
    await delay(Math.max(0, (at - micros()) / 1000 - 2));
    while (micros() < at); // the last two milliseconds exactly
    return at;
  }

  /** Tells a count that changes until the bench says stop. */
  async untilStopped(count: () => number): Promise<void> {
    let told = 0;
    const timer = setInterval(() => {
      if (count() !== told) this.tell({ kind: 'progress', count: (told = count()) });
    }, 5);
    await this.#stop.promise;
    clearInterval(timer);
  }
}
