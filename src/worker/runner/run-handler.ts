import type { AnyTask, TaskContext } from '../define/definition.ts';
import { outcomeOf } from '../define/outcome.ts';
import { parseInput } from '../define/schema.ts';
import { DurableRuntime } from '../durable/durable-runtime.ts';
import type { AttemptSession, RunOutcome, RunRequest } from './runner.ts';

export interface ContextParts {
  readonly signal: AbortSignal;
  readonly log: (message: string) => void;
  readonly progress: (value: unknown) => void;
  /** For durable calls; undefined: there are none in this run. */
  readonly session?: AttemptSession | undefined;
}

const PARKED: RunOutcome = { kind: 'parked' };

/** Calls a handler, inline or in a child process. Never rejects: an error that it throws is the outcome of the attempt. */
export async function runHandler(definition: AnyTask, request: RunRequest, parts: ContextParts): Promise<RunOutcome> {
  let input: unknown;
  try {
    input = JSON.parse(request.payload);
    if (definition.schema !== undefined) input = await parseInput(definition.schema, input, request.handler);
  } catch (error) {
    // A retry would be refused for the same input.
    return { kind: 'giveUp', error };
  }
  const context = new Context(request, parts);
  try {
    const value = await definition.run(input, context);
    const durable = Context.durableOf(context);
    return durable !== undefined && (await durable.hasParked()) ? PARKED : outcomeOf(value);
  } catch (error) {
    const durable = Context.durableOf(context);
    if (durable === undefined) return { kind: 'failed', error };
    if (await durable.hasParked()) return PARKED;
    return durable.isUncertain(error) ? { kind: 'giveUp', error: error.toJSON() } : { kind: 'failed', error };
  }
}

/**
 * The context of a handler. Whatever costs something is made at its first use, because a short handler uses nothing of it.
 * Destructuring works: `{ log, signal }`.
 */
class Context implements TaskContext {
  readonly id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly fence: number;
  readonly tries: number;
  readonly maxAttempts: number;
  readonly traceparent: string | undefined;
  readonly #request: RunRequest;
  readonly #parts: ContextParts;
  #durable: DurableRuntime | undefined;

  constructor(request: RunRequest, parts: ContextParts) {
    const { id, queue, attempt, tries, maxTries } = request;
    this.id = id;
    this.queue = queue;
    this.attempt = attempt;
    this.fence = attempt;
    this.tries = tries;
    this.maxAttempts = maxTries;
    this.traceparent = request.traceparent;
    this.#request = request;
    this.#parts = parts;
  }

  /** Undefined: the handler made no durable call. */
  static durableOf(context: Context): DurableRuntime | undefined {
    return context.#durable;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get log(): (message: string) => void {
    return this.#parts.log;
  }

  get progress(): (value: unknown) => void {
    return this.#parts.progress;
  }

  get step(): DurableRuntime['step'] {
    return this.#runtime.step;
  }

  get list(): DurableRuntime['list'] {
    return this.#runtime.list;
  }

  get wait(): DurableRuntime['wait'] {
    return this.#runtime.wait;
  }

  get spawn(): DurableRuntime['spawn'] {
    return this.#runtime.spawn;
  }

  get dependencies(): DurableRuntime['dependencies'] {
    return this.#runtime.dependencies;
  }

  get #runtime(): DurableRuntime {
    this.#durable ??= new DurableRuntime(this.#request, this.#parts);
    return this.#durable;
  }
}
