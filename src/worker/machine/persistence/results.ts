import { fault } from '../../../core/errors.ts';
import type { Timers } from '../../../core/world.ts';
import { withinMs } from '../../agents/within.ts';
import type { ReadOptions, ResultBackend } from './backends.ts';
import { REAL_TIMERS } from './real-timers.ts';

export const resultUri = (executionId: string): string => `flatagents://${executionId}/result`;
export const checkpointUri = (executionId: string): string => `flatagents://${executionId}/checkpoint`;

const ADDRESS = /^flatagents:\/\/[^/]+\/(?:result|checkpoint)$/;

/** Results in the memory of this object. */
export class InMemoryResultBackend implements ResultBackend {
  readonly #values = new Map<string, unknown>();
  readonly #readers = new Map<string, Set<(data: unknown) => void>>();
  readonly #timers: Pick<Timers, 'after'>;

  constructor(timers: Pick<Timers, 'after'> = REAL_TIMERS) {
    this.#timers = timers;
  }

  async write(uri: string, data: unknown): Promise<void> {
    check(uri);
    this.#values.set(uri, data);
    const readers = this.#readers.get(uri) ?? [];
    this.#readers.delete(uri);
    for (const wake of readers) wake(data);
  }

  async read(uri: string, { block = false, timeout }: ReadOptions = {}): Promise<unknown> {
    check(uri);
    if (!block || this.#values.has(uri)) return this.#values.get(uri);
    const never = new AbortController().signal;
    try {
      return await withinMs(this.#timers as Timers, timeout ?? 0, never, (stop) => this.#next(uri, stop));
    } catch (error) {
      // Programs of other languages look for the name of the class.
      throw Object.assign(error as Error, { name: 'TimeoutError' });
    }
  }

  async exists(uri: string): Promise<boolean> {
    check(uri);
    return this.#values.has(uri);
  }

  async delete(uri: string): Promise<void> {
    check(uri);
    this.#values.delete(uri);
  }

  #next(uri: string, stop: AbortSignal): Promise<unknown> {
    return new Promise((resolve) => {
      const readers = this.#readers.get(uri) ?? new Set();
      this.#readers.set(uri, readers);
      readers.add(resolve);
      stop.addEventListener('abort', () => readers.delete(resolve));
    });
  }
}

function check(uri: string): void {
  if (ADDRESS.test(uri)) return;
  const problem = `${JSON.stringify(uri.slice(0, 80))} is no address of a result`;
  throw fault(
    'INVALID_INPUT',
    { field: 'result', problem },
    { hint: 'It has the form flatagents://EXECUTION_ID/result.' },
  );
}
