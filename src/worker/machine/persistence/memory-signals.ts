import type { SignalBackend, StoredSignal } from './backends.ts';

interface Copy {
  readonly signal: StoredSignal;
  readonly executionId: string;
}

/** Signals in the memory of this object. Each call is done in one turn of the process, so that nobody comes between. */
export class MemorySignalBackend implements SignalBackend {
  readonly #waiting: StoredSignal[] = [];
  readonly #copies: Copy[] = [];
  readonly #now: () => number;
  #last = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async send(channel: string, data: unknown): Promise<string> {
    const id = String(++this.#last);
    this.#waiting.push({ id, channel, data, created_at: new Date(this.#now()).toISOString() });
    return id;
  }

  async consume(channel: string): Promise<StoredSignal | null> {
    return this.#shift(channel) ?? null;
  }

  async peek(channel: string): Promise<readonly StoredSignal[]> {
    return this.#waiting.filter((one) => one.channel === channel);
  }

  async channels(): Promise<readonly string[]> {
    const all = [...this.#waiting, ...this.#copies.map(({ signal }) => signal)];
    return [...new Set(all.map(({ channel }) => channel))].toSorted();
  }

  async deliver(channel: string, executionIds: readonly string[]): Promise<StoredSignal | null> {
    if (executionIds.length === 0) return null;
    const signal = this.#shift(channel);
    if (signal === undefined) return null;
    for (const executionId of executionIds) this.#copies.push({ signal, executionId });
    return signal;
  }

  async addressed(channel: string): Promise<readonly string[]> {
    const own = this.#copies.filter(({ signal }) => signal.channel === channel);
    return [...new Set(own.map(({ executionId }) => executionId))];
  }

  async receive(channel: string, executionId: string): Promise<StoredSignal | null> {
    const copy = this.#copies.find((one) => one.signal.channel === channel && one.executionId === executionId);
    return copy?.signal ?? this.deliver(channel, [executionId]);
  }

  async settle(signalId: string, executionId: string): Promise<void> {
    const place = this.#copies.findIndex((one) => one.signal.id === signalId && one.executionId === executionId);
    if (place >= 0) this.#copies.splice(place, 1);
  }

  #shift(channel: string): StoredSignal | undefined {
    const place = this.#waiting.findIndex((one) => one.channel === channel);
    return place < 0 ? undefined : this.#waiting.splice(place, 1)[0];
  }
}
