import type { NameTaker } from '../../core/placement/name-hold.ts';
import { CallSession } from '../workers/call-session.ts';
import { holderOf } from '../workers/lease-tokens.ts';
import type { WorkerNames } from '../workers/worker-names.ts';

export interface CallingNodesOptions {
  readonly names: WorkerNames;
  /** This process. */
  readonly place: Omit<NameTaker, 'holder'>;
  readonly now: () => number;
}

type Register<T> = (takes: NameTaker) => Promise<T>;

/** Nodes of apflow that call with the secret of a worker: while one calls, nobody else has its name. */
export class CallingNodes {
  readonly #options: CallingNodesOptions;
  readonly #sessions = new Map<string, CallSession>();

  constructor(options: CallingNodesOptions) {
    this.#options = options;
  }

  /** It calls. `register` takes the name in the store, which may have been given to somebody else. */
  async heard(name: string, register: Register<unknown>): Promise<void> {
    const session = this.#take(name);
    if (session.entered) await session.during(() => Promise.resolve());
    else await this.#enter(name, session, register);
  }

  /** It registers. */
  joined<T>(name: string, register: Register<T>): Promise<T> {
    return this.#enter(name, this.#take(name), register);
  }

  left(name: string): void {
    this.#sessions.get(name)?.signOff();
  }

  #take(name: string): CallSession {
    const { names, now } = this.#options;
    const session =
      this.#sessions.get(name) ?? new CallSession(holderOf(name, 'node'), now, () => this.#sessions.delete(name));
    names.take(name, session);
    this.#sessions.set(name, session);
    return session;
  }

  async #enter<T>(name: string, session: CallSession, register: Register<T>): Promise<T> {
    const { names, place } = this.#options;
    const takes = { ...place, holder: session.holder };
    try {
      return await session.during(() => names.enter(name, session, () => register(takes)));
    } catch (error) {
      if (!session.entered && names.release(name, session)) this.#sessions.delete(name);
      throw error;
    }
  }
}
