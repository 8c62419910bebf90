import type { Lease } from '../core/lease.ts';
import type { Asked } from '../protocol/frames.ts';
import type { Assignment, ChildRequest, Session, Waiting } from '../protocol/link.ts';
import { parseBody } from './json-body.ts';
import type { LeaseTokens } from './lease-tokens.ts';

type Fenced = Extract<Asked, { lease: unknown }>;

/** What one worker incarnation was granted and asks for, whichever connection it comes by. */
export class WorkerDesk {
  readonly session: Session;
  /** Who the tokens are made out to: name and incarnation. */
  readonly #holder: string;
  readonly #tokens: LeaseTokens;
  /** Granted and not settled, as far as this node knows. */
  readonly #granted = new Map<string, Assignment>();
  readonly #claims = new Map<number, AbortController>();

  constructor(session: Session, holder: string, tokens: LeaseTokens) {
    this.session = session;
    this.#holder = holder;
    this.#tokens = tokens;
  }

  has(task: number): boolean {
    return [...this.#granted.values()].some((one) => one.task === task);
  }

  /** Gives back with their tries what was granted and never reached the worker. */
  async settleUp(holding: readonly Lease[]): Promise<void> {
    const known = new Set(holding.map(keyOf));
    const lost = [...this.#granted].filter(([key]) => !known.has(key));
    await Promise.allSettled(lost.map(([, assignment]) => this.#release(assignment)));
  }

  /** Nobody hears the answers any more. */
  stopClaims(): void {
    for (const claim of this.#claims.values()) claim.abort();
  }

  /** The answer to one question; rejects with what is refused. */
  async answer(asked: Asked): Promise<unknown> {
    if ('lease' in asked) return this.#fenced(asked);
    switch (asked.type) {
      case 'task_claim':
        return this.#claim(asked);
      case 'claim_stop':
        this.#claims.get(asked.claim)?.abort();
        return undefined;
      case 'lease_renew':
        return this.session.renew(asked.leases.map((lease) => this.#tokens.check(lease, this.#holder)));
      case 'cancels':
        return this.session.cancels();
      case 'heartbeat':
        return this.session.beat(asked.state);
    }
  }

  /** A claim of which nobody hears is given back. */
  async #claim({ n, max, waitMs }: Extract<Asked, { type: 'task_claim' }>): Promise<unknown> {
    const stop = new AbortController();
    this.#claims.set(n, stop);
    try {
      const assignments = await this.session.claim({ max, waitMs, signal: stop.signal });
      if (stop.signal.aborted) {
        await Promise.allSettled(assignments.map((one) => this.session.release(one)));
        return [];
      }
      for (const one of assignments) this.#granted.set(keyOf(one), one);
      return assignments.map((one) => this.#shown(one));
    } finally {
      this.#claims.delete(n);
    }
  }

  #shown(one: Assignment): object {
    const { task, attempt, id, queue, handler, payload, tries, maxTries, createdAt, suspect, timeoutMs, reuses } = one;
    const token = this.#tokens.of(one, this.#holder);
    return {
      task,
      attempt,
      token,
      id,
      queue,
      handler,
      payload,
      tries,
      maxTries,
      createdAt,
      suspect,
      timeoutMs,
      reuses,
    };
  }

  async #fenced(asked: Fenced): Promise<unknown> {
    const lease = this.#tokens.check(asked.lease, this.#holder);
    // After a restart of this node a lease is known by its proof alone.
    const assignment = this.#granted.get(keyOf(lease)) ?? (lease as Assignment);
    const ends = ENDS.has(asked.type);
    try {
      const value = await this.#say(assignment, asked);
      const stays = asked.type === 'task_park' && (value as { kind: string }).kind === 'woken';
      if (ends && !stays) this.#granted.delete(keyOf(lease));
      return value;
    } catch (error) {
      if ((error as { code?: unknown }).code === 'LEASE_LOST') this.#granted.delete(keyOf(lease));
      throw error;
    }
  }

  #say(lease: Assignment, asked: Fenced): Promise<unknown> {
    const { session } = this;
    switch (asked.type) {
      case 'task_complete':
        return session.complete(lease, parsed(asked.result));
      case 'task_failed': {
        const { giveUp, retryAfterMs, limit } = asked;
        return session.fail(lease, parsed(asked.error), {
          ...(giveUp === undefined ? {} : { giveUp }),
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
          ...(limit === undefined ? {} : { limit }),
        });
      }
      case 'task_release': {
        const { bounced, delayMs } = asked;
        return session.release(lease, {
          ...(bounced === undefined ? {} : { bounced }),
          ...(delayMs === undefined ? {} : { delayMs }),
        });
      }
      case 'task_cancelled':
        return session.cancelled(lease);
      case 'task_progress':
        return session.log(lease, asked.logs);
      case 'checkpoints':
        return session.checkpoints(lease);
      case 'checkpoint':
        return session.checkpoint(lease, asked.key, parsed(asked.value));
      case 'task_park': {
        const { form, ...wait } = asked.wait;
        return session.park(lease, { ...wait, ...(form === undefined ? {} : { form: parsed(form) }) } as Waiting);
      }
      case 'waited':
        return session.waited(lease);
      case 'task_spawn': {
        const { input, ...child } = asked.child;
        return session.spawn(lease, {
          ...child,
          ...(input === undefined ? {} : { input: parsed(input) }),
        } as ChildRequest);
      }
      case 'results':
        return session.results(lease, asked.tasks);
      case 'dependencies':
        return session.dependencies(lease);
      case 'reusable':
        return session.reusable(lease);
      case 'keep':
        return session.keep(lease, parsed(asked.result));
    }
  }

  async #release(assignment: Assignment): Promise<void> {
    this.#granted.delete(keyOf(assignment));
    await this.session.release(assignment);
  }
}

const ENDS: ReadonlySet<Asked['type']> = new Set([
  'task_complete',
  'task_failed',
  'task_release',
  'task_cancelled',
  'task_park',
]);

const keyOf = ({ task, attempt }: Lease): string => `${task}/${attempt}`;

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : parseBody(text);
}
