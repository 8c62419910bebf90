import { CallSession } from '../workers/call-session.ts';
import { holderOf } from '../workers/lease-tokens.ts';
import type { WorkerNames } from '../workers/worker-names.ts';

/** Nodes of apflow that call with the secret of a worker: while one calls, nobody else has its name. */
export class CallingNodes {
  readonly #names: WorkerNames;
  readonly #now: () => number;
  readonly #sessions = new Map<string, CallSession>();

  constructor(names: WorkerNames, now: () => number) {
    this.#names = names;
    this.#now = now;
  }

  async heard(name: string): Promise<void> {
    const session = this.#sessions.get(name) ?? this.#begin(name);
    this.#names.take(name, session);
    this.#sessions.set(name, session);
    await session.during(() => Promise.resolve());
  }

  left(name: string): void {
    this.#sessions.get(name)?.signOff();
  }

  #begin(name: string): CallSession {
    return new CallSession(holderOf(name, 'node'), this.#now, () => this.#sessions.delete(name));
  }
}
