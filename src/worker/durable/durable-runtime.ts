import { type EngineError, fault } from '../../core/errors.ts';
import type { ArtifactReader } from '../artifacts/attempt-artifacts.ts';
import type { AttemptSession, RunRequest } from '../runner/runner.ts';
import type { DurableContext } from './durable-context.ts';
import { Journal } from './journal.ts';
import { LargeValues } from './large-values.ts';
import { Spawns } from './spawns.ts';
import { Steps } from './steps.ts';
import { Waits } from './waits.ts';

export interface DurableRuntimeParts {
  /** Undefined: durable calls are refused in this run. */
  readonly session?: AttemptSession | undefined;
  /** Where values of steps go that are too large for the journal; undefined: nowhere. */
  readonly artifacts?: ArtifactReader | undefined;
  readonly signal: AbortSignal;
}

/** The durable calls of one run; created at the first of them. */
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
      throw fault('CONFLICT', { problem: 'durable calls need a worker, and this run has none' });
    const journal = new Journal({ session, request, signal: () => parts.signal });
    this.#journal = journal;
    // What a run with credentials says must pass its worker, which hides them: a file would not. Looked at when it is needed: it is made then.
    const artifacts = (): ArtifactReader | undefined =>
      request.credentials === undefined ? parts.artifacts : undefined;
    const { step, list } = new Steps(journal, new LargeValues(journal, artifacts));
    const { spawn, dependencies } = new Spawns(journal);
    this.step = step;
    this.list = list;
    this.wait = new Waits(journal).wait as DurableContext['wait'];
    this.spawn = spawn as DurableContext['spawn'];
    this.dependencies = dependencies;
  }

  /** The attempt has parked, whatever its handler did with the error. */
  hasParked(): Promise<boolean> {
    return this.#journal.hasParked();
  }

  /** Whether this error says that a step may or may not have taken effect. A retry could not tell either. */
  isUncertain(error: unknown): error is EngineError {
    return this.#journal.isUncertain(error);
  }
}
