import { type EngineError, fault } from '../../core/errors.ts';
import type { Desk, Job } from '../runner/runner.ts';
import type { Remembering } from './durable-context.ts';
import { Journal } from './journal.ts';
import { Spawns } from './spawns.ts';
import { Steps } from './steps.ts';
import { Waits } from './waits.ts';

export interface MemoryParts {
  /** Undefined: nobody is there who could keep anything. */
  readonly desk?: Desk | undefined;
  readonly signal: AbortSignal;
}

/** All that a handler can remember and wait for; made when the first of it is used. */
export class Memory implements Remembering {
  readonly step: Remembering['step'];
  readonly list: Remembering['list'];
  readonly wait: Remembering['wait'];
  readonly spawn: Remembering['spawn'];
  readonly dependencies: Remembering['dependencies'];
  readonly #journal: Journal;

  constructor(job: Job, parts: MemoryParts) {
    const { desk } = parts;
    if (desk === undefined) throw fault('CONFLICT', { problem: 'this run has no worker that could remember anything' });
    const journal = new Journal({ desk, job, signal: () => parts.signal });
    this.#journal = journal;
    const { step, list } = new Steps(journal);
    const { spawn, dependencies } = new Spawns(journal);
    this.step = step;
    this.list = list;
    this.wait = new Waits(journal).wait as Remembering['wait'];
    this.spawn = spawn as Remembering['spawn'];
    this.dependencies = dependencies;
  }

  /** The attempt has parked, whatever its handler made of that. */
  left(): Promise<boolean> {
    return this.#journal.left();
  }

  /** Thrown because nobody knows whether a step took effect: trying again would not tell. */
  isUncertain(error: unknown): error is EngineError {
    return this.#journal.isUncertain(error);
  }
}
