import { type IdGenerator, RandomIdGenerator } from '@opentelemetry/sdk-trace';
import type { TraceParent } from '../../core/task/trace.ts';

/** Random ids, except for the span that is started within `with`. */
export class OwnIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #next: TraceParent | undefined;

  with<T>(next: TraceParent, start: () => T): T {
    this.#next = next;
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }

  generateTraceId = (): string => this.#next?.traceId ?? this.#random.generateTraceId();

  generateSpanId = (): string => this.#next?.spanId ?? this.#random.generateSpanId();
}
