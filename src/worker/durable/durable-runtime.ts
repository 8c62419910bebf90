import { type EngineError, fault } from '../../core/errors.ts';
import type { AttemptSession, RunRequest } from '../runner/runner.ts';
import type { DurableContext } from './durable-context.ts';
import { Journal } from './journal.ts';
import { Spawns } from './spawns.ts';
import { Steps } from './steps.ts';
import { Waits } from './waits.ts';

export interface DurableRuntimeParts {
  /** Undefined: nobody is there who could keep anything. */
  readonly session?: AttemptSession | undefined;
  readonly signal: AbortSignal;
}

/** All that a handler can remember and wait for; made when the first of it is used. */
export class DurableRuntime implements DurableContext {
  readonly step: DurableContext['step'];
  readonly list: DurableContext['list'];
  readonly wait: DurableContext['wait'];
  readonly spawn: DurableContext['spawn'];
  readonly dependencies: DurableContext['dependencies'];
  readonly #journal: Journal;

  constructor(request: RunRequest, parts: DurableRuntimeParts) {
    const { session } = parts;
    if (session === undefined)
      throw fault('CONFLICT', { problem: 'this run has no worker that could remember anything' });
    const journal = new Journal({ session, request, signal: () => parts.signal });
    this.#journal = journal;
    const { step, list } = new Steps(journal);
    const { spawn, dependencies } = new Spawns(journal);
    this.step = step;
    this.list = list;
    this.wait = new Waits(journal).wait as DurableContext['wait'];
    this.spawn = spawn as DurableContext['spawn'];
    this.dependencies = dependencies;
  }

  /** The attempt has parked, whatever its handler made of that. */
  hasParked(): Promise<boolean> {
    return this.#journal.hasParked();
  }

  /** Thrown because nobody knows whether a step took effect: trying again would not tell. */
  isUncertain(error: unknown): error is EngineError {
    return this.#journal.isUncertain(error);
  }
}
