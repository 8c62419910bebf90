import { randomUUID } from 'node:crypto';
import { fault, isEngineError } from '../../core/errors.ts';
import { type LogEntry, STREAMS, type Stream } from '../../core/task/log.ts';
import type { Clock } from '../../core/world.ts';
import type { StepOfRun } from '../../operate/loops/loop-runs.ts';
import type { Granted } from '../../protocol/frames.ts';
import type { Assignment } from '../../protocol/link.ts';
import type { AnswerOf, BodyOf } from '../../protocol/routes.ts';
import type { Principal } from '../auth/access.ts';
import type { HttpWorkers } from '../workers/http-workers.ts';
import { holderOf, type LeaseTokens } from '../workers/lease-tokens.ts';
import type { WorkerSession } from '../workers/session-tokens.ts';
import { artifactsIn, cancellationOf, failureOf, resultOf } from './step-outcome.ts';

export interface LoopdWorkersOptions {
  readonly httpWorkers: HttpWorkers;
  readonly leases: LeaseTokens;
  /** The settings of a worker's name. */
  readonly settingOf: (name: string) => Promise<{ readonly enabled: boolean }>;
  readonly numberOf: (step: string) => number;
  /** Refuses what is no whole artifact of the tree of the task. */
  readonly checkRefs: (task: number, refs: readonly string[]) => Promise<void>;
  /** The runs of tasks, and the phases of those that are loops. */
  readonly runsOf: (tasks: readonly number[]) => Promise<ReadonlyMap<number, StepOfRun>>;
  readonly clock: Clock;
}

type Step = NonNullable<AnswerOf<'claimSteps'>>[number];

const HEARTBEAT_MS = 10_000;
const MOST_TEXT = 65_536;
/** The attempt and its proof; there is one spelling of each token. */
const LEASE_TOKEN = /^([1-9]\d{0,14})\.([\w-]+)$/;

/** Serves loopd workers: every call names its lease by a token. */
export class LoopdWorkers {
  readonly #options: LoopdWorkersOptions;

  constructor(options: LoopdWorkersOptions) {
    this.#options = options;
  }

  async register(
    body: BodyOf<'registerWorker'>,
    principal: Principal,
    address?: string,
  ): Promise<AnswerOf<'registerWorker'>> {
    const { hostname: host, capabilities, ...rest } = body;
    const { handlers, tags = [], queues } = Array.isArray(capabilities) ? { handlers: capabilities } : capabilities;
    if (handlers.length === 0) {
      throw fault('INVALID_INPUT', { field: 'capabilities', problem: 'it names no handler that the worker runs' });
    }
    const { httpWorkers } = this.#options;
    const incarnation = randomUUID();
    const hello = { ...rest, incarnation, handlers, tags, queues, host, perHost: true };
    const { worker, session: token, leaseMs } = await httpWorkers.join(hello, principal, address);
    // A worker of our own goes online by itself, once it can take work.
    await (await httpWorkers.open(httpWorkers.read(token))).beat('online');
    return {
      worker_id: worker,
      session_token: token,
      heartbeat_interval_ms: Math.min(HEARTBEAT_MS, Math.floor(leaseMs / 3)),
      lease_ttl_ms: leaseMs,
    };
  }

  /** `raw`: the request as it came. */
  async heartbeat(
    session: WorkerSession,
    body: BodyOf<'beatWorker'>,
    raw: Parameters<HttpWorkers['credentials']>[2],
  ): Promise<AnswerOf<'beatWorker'>> {
    const link = await this.#options.httpWorkers.open(session);
    const state = body.status === 'offline' ? 'offline' : body.status === 'draining' ? 'draining' : 'online';
    await link.beat(state, { status: body.status, ...(body.metrics === undefined ? {} : { metadata: body.metrics }) });
    if (state === 'offline') await this.#options.httpWorkers.signOff(session);
    const held = body.leases.map((lease) => ({
      step: lease.step_id,
      lease: this.#leaseOf(session, lease.step_id, lease.lease_token),
    }));
    const known = held.flatMap(({ lease }) => (lease === undefined ? [] : [lease]));
    const answers = await link.renew(known);
    const answerOf = new Map(known.map((lease, i) => [lease, answers[i]]));
    const became = held.map(({ step, lease }) => ({ step, answer: (lease && answerOf.get(lease)) ?? 'lost' }));
    const steps = (some: (answer: string) => boolean): readonly string[] =>
      became.filter(({ answer }) => some(answer)).map(({ step }) => step);
    const { vault, credential_acks: acks = [] } = body;
    const orders =
      vault === undefined ? [] : await this.#options.httpWorkers.credentials(session, { vault, acks }, raw);
    return {
      renewed: steps((answer) => answer !== 'lost'),
      lost: steps((answer) => answer === 'lost'),
      cancel: steps((answer) => answer === 'cancel').map((step) => ({ step_id: step, reason: 'requested' })),
      drain: !(await this.#options.settingOf(session.name)).enabled,
      ...(orders.length === 0 ? {} : { credentials: orders }),
    };
  }

  /** `hangUp`: nobody waits for the answer any more. */
  async claim(session: WorkerSession, body: BodyOf<'claimSteps'>, hangUp: AbortSignal): Promise<readonly Step[]> {
    const { httpWorkers } = this.#options;
    const granted = await httpWorkers.take(session, { max: body.max, waitMs: body.wait_ms }, hangUp);
    const { leaseMs } = await httpWorkers.open(session);
    const runs = await this.#options.runsOf(granted.map(({ task }) => task));
    return granted.map((one) => this.#stepOf(one, leaseMs, runs.get(one.task)));
  }

  async events(session: WorkerSession, step: string, body: BodyOf<'appendEvents'>): Promise<AnswerOf<'appendEvents'>> {
    const lease = this.#requireLease(session, step, body.lease_token);
    const link = await this.#options.httpWorkers.open(session);
    const now = this.#options.clock.wall();
    const entries = body.events.map((event): LogEntry => {
      const { seq, event_type: type, payload, ts } = event;
      const stream = (STREAMS as readonly string[]).includes(type) ? (type as Stream) : 'log';
      const text =
        typeof payload === 'string' ? payload : JSON.stringify(stream === 'log' ? { type, payload } : payload);
      return { seq, at: ts ?? now, stream, text: (text ?? '').slice(0, MOST_TEXT) };
    });
    await link.log(lease, entries);
    return { acked_seq: Math.max(...entries.map(({ seq }) => seq)) };
  }

  async complete(
    session: WorkerSession,
    step: string,
    body: BodyOf<'completeStep'>,
  ): Promise<AnswerOf<'completeStep'>> {
    const lease = this.#requireLease(session, step, body.lease_token);
    const link = await this.#options.httpWorkers.open(session);
    await this.#options.checkRefs(lease.task, artifactsIn(body));
    switch (body.status) {
      case 'succeeded':
      case 'completed':
      case 'success':
        await link.complete(lease, resultOf(body));
        return { step_id: step, state: 'completed' };
      case 'canceled':
      case 'cancelled':
        await link.cancelled(lease, cancellationOf(body));
        return { step_id: step, state: 'cancelled' };
      case 'failed':
      case 'error':
        return { step_id: step, state: await link.fail(lease, failureOf(body)) };
    }
  }

  #stepOf(one: Granted, leaseMs: number, run: StepOfRun | undefined): Step {
    return {
      step_id: one.id,
      task: one.task,
      run_id: run?.runId ?? null,
      phase: run?.phase ?? one.handler,
      queue: one.queue,
      attempt: one.attempt,
      lease_token: `${one.attempt}.${one.token}`,
      lease_expires_at: Math.floor(this.#options.clock.wall()) + leaseMs,
      lease_ttl_ms: leaseMs,
      input: JSON.parse(one.payload) as unknown,
      tries: one.tries,
      max_attempts: one.maxTries,
      timeout_ms: one.timeoutMs ?? null,
      created_at: one.createdAt,
      suspect: one.suspect,
      reuses: one.reuses ?? false,
      workspace: run?.workspace ?? null,
      artifact_store: run?.artifacts ?? null,
    };
  }

  /** The lease that the token proves; undefined: it was never granted to this worker. */
  #leaseOf(session: WorkerSession, step: string, token: string): Assignment | undefined {
    const [, attempt, proof = ''] = LEASE_TOKEN.exec(token) ?? [];
    if (attempt === undefined) return undefined;
    try {
      const task = this.#options.numberOf(step);
      const holder = holderOf(session.name, session.worker);
      return this.#options.leases.check({ task, attempt: Number(attempt), token: proof }, holder) as Assignment;
    } catch (error) {
      if (isEngineError(error)) return undefined;
      throw error;
    }
  }

  #requireLease(session: WorkerSession, step: string, token: string): Assignment {
    const lease = this.#leaseOf(session, step, token);
    if (lease === undefined) throw fault('LEASE_LOST', { task: step });
    return lease;
  }
}
