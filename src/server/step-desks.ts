import { randomUUID } from 'node:crypto';
import { fault, isEngineError } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import { type LogEntry, STREAMS, type Stream } from '../core/log.ts';
import type { Assignment, Link, Session } from '../protocol/link.ts';
import type { AnswerOf, BodyOf } from '../protocol/routes.ts';
import type { Principal } from './access.ts';
import { requireGiven } from './given-tags.ts';
import type { LeaseTokens } from './lease-tokens.ts';
import type { SessionTokens, WorkerSession } from './session-tokens.ts';

export interface StepDesksOptions {
  readonly link: Link;
  readonly leases: LeaseTokens;
  readonly sessions: SessionTokens;
  /** What is said of a worker's name. */
  readonly settingOf: (name: string) => Promise<{ readonly enabled: boolean; readonly tags: readonly string[] }>;
  readonly numberOf: (step: string) => number;
  readonly wall: () => number;
}

type Step = NonNullable<AnswerOf<'claimSteps'>>[number];

/** A worker that has said nothing for so long is forgotten here; its session token brings it back. */
const MAX_DESKS = 10_000;
const HEARTBEAT_MS = 10_000;
const MOST_TEXT = 65_536;
/** Attempt and proof, in one spelling. */
const LEASE_TOKEN = /^([1-9]\d{0,14})\.([\w-]+)$/;

/** Workers that come by HTTP, as document 002 has them: every call names its lease by a token. */
export class StepDesks {
  readonly #options: StepDesksOptions;
  readonly #sessions = new Map<string, Promise<Session>>();

  constructor(options: StepDesksOptions) {
    this.#options = options;
  }

  async register(body: BodyOf<'registerWorker'>, principal: Principal): Promise<AnswerOf<'registerWorker'>> {
    const { hostname: host, capabilities, slots, version } = body;
    const { handlers, tags = [], queues } = Array.isArray(capabilities) ? { handlers: capabilities } : capabilities;
    if (handlers.length === 0) {
      throw fault('INVALID_INPUT', { field: 'capabilities', problem: 'it names no handler that the worker runs' });
    }
    if (principal.token === undefined) throw fault('FORBIDDEN', { problem: 'this needs the secret of a worker' });
    requireGiven(principal.name, tags, (await this.#options.settingOf(principal.name)).tags);
    const said: WorkerSession = {
      name: principal.name,
      worker: randomUUID(),
      token: principal.token,
      handlers,
      tags,
      queues,
      slots,
      version,
      host,
    };
    const session = await this.#open(said);
    await session.beat('online');
    const { leaseMs } = session;
    return {
      worker_id: said.worker,
      session_token: this.#options.sessions.write(said),
      heartbeat_interval_ms: Math.min(HEARTBEAT_MS, Math.floor(leaseMs / 3)),
      lease_ttl_ms: leaseMs,
    };
  }

  async heartbeat(said: WorkerSession, body: BodyOf<'beatWorker'>): Promise<AnswerOf<'beatWorker'>> {
    const session = await this.#open(said);
    const gone = body.status === 'offline' ? 'offline' : body.status === 'draining' ? 'draining' : 'online';
    await session.beat(gone);
    const held = body.leases.map((lease) => ({
      step: lease.step_id,
      lease: this.#leaseOf(said, lease.step_id, lease.lease_token),
    }));
    const known = held.flatMap(({ lease }) => (lease === undefined ? [] : [lease]));
    const answers = await session.renew(known);
    const answerOf = new Map(known.map((lease, i) => [lease, answers[i]]));
    const became = held.map(({ step, lease }) => ({ step, answer: (lease && answerOf.get(lease)) ?? 'lost' }));
    const steps = (some: (answer: string) => boolean): readonly string[] =>
      became.filter(({ answer }) => some(answer)).map(({ step }) => step);
    return {
      renewed: steps((answer) => answer !== 'lost'),
      lost: steps((answer) => answer === 'lost'),
      cancel: steps((answer) => answer === 'cancel').map((step) => ({ step_id: step, reason: 'requested' })),
      drain: !(await this.#options.settingOf(said.name)).enabled,
    };
  }

  /** `heard` says whether somebody still waits for the answer: what nobody hears of goes back with its try. */
  async claim(said: WorkerSession, body: BodyOf<'claimSteps'>, signal: AbortSignal): Promise<readonly Step[]> {
    const session = await this.#open(said);
    const assignments = await session.claim({ max: body.max, waitMs: body.wait_ms, signal });
    if (signal.aborted) {
      await this.giveBack(said, assignments);
      return [];
    }
    return assignments.map((one) => this.#stepOf(said, one, session.leaseMs));
  }

  /** Steps of an answer that could not be written. */
  async giveBackSteps(said: WorkerSession, steps: readonly Step[]): Promise<void> {
    const leases = steps.map(({ step_id: id, attempt }) => ({ task: this.#options.numberOf(id), attempt }));
    await this.giveBack(said, leases);
  }

  async giveBack(said: WorkerSession, leases: readonly Lease[]): Promise<void> {
    const session = await this.#open(said);
    await Promise.allSettled(leases.map((lease) => session.release(lease as Assignment)));
  }

  async events(said: WorkerSession, step: string, body: BodyOf<'appendEvents'>): Promise<AnswerOf<'appendEvents'>> {
    const lease = this.#requireLease(said, step, body.lease_token);
    const session = await this.#open(said);
    const now = this.#options.wall();
    const entries = body.events.map((event): LogEntry => {
      const { seq, event_type: type, payload, ts } = event;
      const stream = (STREAMS as readonly string[]).includes(type) ? (type as Stream) : 'log';
      const text =
        typeof payload === 'string' ? payload : JSON.stringify(stream === 'log' ? { type, payload } : payload);
      return { seq, at: ts ?? now, stream, text: (text ?? '').slice(0, MOST_TEXT) };
    });
    await session.log(lease, entries);
    return { acked_seq: Math.max(...entries.map(({ seq }) => seq)) };
  }

  async complete(said: WorkerSession, step: string, body: BodyOf<'completeStep'>): Promise<AnswerOf<'completeStep'>> {
    const lease = this.#requireLease(said, step, body.lease_token);
    const session = await this.#open(said);
    const { lease_token: _, status, result, error, ...told } = body;
    switch (status) {
      case 'succeeded':
      case 'completed':
      case 'success':
        await session.complete(lease, result ?? told);
        return { step_id: step, state: 'completed' };
      case 'canceled':
      case 'cancelled':
        await session.cancelled(lease);
        return { step_id: step, state: 'cancelled' };
      case 'failed':
      case 'error':
        return {
          step_id: step,
          state: await session.fail(lease, error ?? result ?? { message: 'the step failed', ...told }),
        };
    }
  }

  /** The session of a worker, on whichever node it comes. */
  #open(said: WorkerSession): Promise<Session> {
    const { worker, name, token, handlers, tags, queues, slots, version, host } = said;
    const known = this.#sessions.get(worker);
    if (known !== undefined) return known;
    if (this.#sessions.size >= MAX_DESKS) this.#sessions.clear();
    const opened = this.#options.link.open({
      name,
      incarnation: worker,
      slots,
      tags,
      handlers,
      queues,
      version,
      host,
      token,
    });
    this.#sessions.set(worker, opened);
    opened.catch(() => this.#sessions.delete(worker));
    return opened;
  }

  #stepOf(said: WorkerSession, one: Assignment, leaseMs: number): Step {
    return {
      step_id: one.id,
      run_id: null,
      phase: one.handler,
      queue: one.queue,
      attempt: one.attempt,
      lease_token: `${one.attempt}.${this.#options.leases.of(one, said.worker)}`,
      lease_expires_at: Math.floor(this.#options.wall()) + leaseMs,
      lease_ttl_ms: leaseMs,
      input: JSON.parse(one.payload) as unknown,
      tries: one.tries,
      max_attempts: one.maxTries,
      timeout_ms: one.timeoutMs ?? null,
      workspace: null,
    };
  }

  /** Undefined: whoever speaks does not have it, and never had. */
  #leaseOf(said: WorkerSession, step: string, token: string): Assignment | undefined {
    const [, attempt, proof = ''] = LEASE_TOKEN.exec(token) ?? [];
    if (attempt === undefined) return undefined;
    try {
      const task = this.#options.numberOf(step);
      return this.#options.leases.check({ task, attempt: Number(attempt), token: proof }, said.worker) as Assignment;
    } catch (error) {
      if (isEngineError(error)) return undefined;
      throw error;
    }
  }

  #requireLease(said: WorkerSession, step: string, token: string): Assignment {
    const lease = this.#leaseOf(said, step, token);
    if (lease === undefined) throw fault('LEASE_LOST', { task: step });
    return lease;
  }
}
