import { randomUUID } from 'node:crypto';
import { fault, isEngineError } from '../core/errors.ts';
import { type LogEntry, STREAMS, type Stream } from '../core/log.ts';
import type { Clock } from '../core/world.ts';
import type { Log } from '../engine/log.ts';
import { Asked, exceeds, MAX_ANSWER_BYTES, type Said } from '../protocol/frames.ts';
import type { Assignment, Hello, Link, Session } from '../protocol/link.ts';
import type { AnswerOf, BodyOf } from '../protocol/routes.ts';
import type { Principal } from './access.ts';
import { checked } from './asking.ts';
import { READS } from './conversation.ts';
import { requireGiven } from './given-tags.ts';
import { holderOf, type LeaseTokens } from './lease-tokens.ts';
import { OPEN_ROOM } from './outlet.ts';
import { errorOf, stackOf } from './refusals.ts';
import type { SessionTokens, WorkerSession } from './session-tokens.ts';
import { WorkerDesk } from './worker-desk.ts';

export interface StepDesksOptions {
  readonly link: Link;
  readonly leases: LeaseTokens;
  readonly sessions: SessionTokens;
  /** What is said of a worker's name. */
  readonly settingOf: (name: string) => Promise<{ readonly enabled: boolean; readonly tags: readonly string[] }>;
  readonly numberOf: (step: string) => number;
  readonly clock: Clock;
  readonly log: Log;
}

type Step = NonNullable<AnswerOf<'claimSteps'>>[number];
type Answer = AnswerOf<'askNode'>['answers'][number];

/** What a claim shows of a task: the port's words, with the token of its lease. */
type Granted = Assignment & { readonly token: string };

/** Of one session, on this node. */
interface Place {
  readonly desk: WorkerDesk;
  /** The claim that waits, of a worker that counts its claims. */
  claiming?: { readonly n: number; readonly stop: AbortController } | undefined;
  /** Claims up to this one were stopped, though one of them may come after the word that stops it. */
  stopped: number;
}

/** The worker that has said nothing for longest is forgotten beyond so many; its session token brings it back. */
const MAX_PLACES = 10_000;
/** It is a header, and all headers together are 16 KiB at most. */
const MAX_TOKEN = 12_000;
/** Questions of one request whose answers can be large. */
const MAX_READS = 8;
const HEARTBEAT_MS = 10_000;
const MOST_TEXT = 65_536;
/** Attempt and proof, in one spelling. */
const LEASE_TOKEN = /^([1-9]\d{0,14})\.([\w-]+)$/;

/** Workers that come by HTTP, as document 002 has them: every call names its lease by a token. */
export class StepDesks {
  readonly #options: StepDesksOptions;
  /** The one that spoke last comes last. */
  readonly #places = new Map<string, Promise<Place>>();

  constructor(options: StepDesksOptions) {
    this.#options = options;
  }

  async register(
    body: BodyOf<'registerWorker'>,
    principal: Principal,
    address?: string,
  ): Promise<AnswerOf<'registerWorker'>> {
    const { hostname: host, capabilities, slots, version, name, incarnation, priority, pid, schemas } = body;
    const { handlers, tags = [], queues } = Array.isArray(capabilities) ? { handlers: capabilities } : capabilities;
    if (handlers.length === 0) {
      throw fault('INVALID_INPUT', { field: 'capabilities', problem: 'it names no handler that the worker runs' });
    }
    if (principal.token === undefined) throw fault('FORBIDDEN', { problem: 'this needs the secret of a worker' });
    if (name !== undefined && name !== principal.name) {
      throw fault('FORBIDDEN', { problem: 'the secret is not that of this worker' });
    }
    requireGiven(principal.name, tags, (await this.#options.settingOf(principal.name)).tags);
    const said: WorkerSession = {
      name: principal.name,
      worker: incarnation ?? randomUUID(),
      token: principal.token,
      handlers,
      tags,
      queues,
      slots,
      version,
      host,
      address,
      priority,
      pid,
    };
    const token = this.#options.sessions.write(said);
    if (token.length > MAX_TOKEN) {
      throw fault(
        'TOO_LARGE',
        { field: 'capabilities', maxBytes: MAX_TOKEN },
        { hint: 'They go with every call. Name fewer handlers and queues, or join over the WebSocket.' },
      );
    }
    const session = await this.#open(said, schemas);
    // Our own worker says it by itself, once it can take work.
    if (incarnation === undefined) await session.beat('online');
    const { leaseMs } = session;
    return {
      worker_id: said.worker,
      session_token: token,
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

  /** `gone`: nobody waits for the answer any more. What nobody hears of goes back with its try. */
  async claim(said: WorkerSession, body: BodyOf<'claimSteps'>, gone: AbortSignal): Promise<readonly Step[]> {
    const place = await this.#place(said);
    const { max, wait_ms: waitMs, n, holding } = body;
    const stop = new AbortController();
    if (n !== undefined) {
      // Who claims again has not heard the answer before, and will not.
      place.claiming?.stop.abort();
      place.claiming = { n, stop };
    }
    try {
      if (holding !== undefined) await place.desk.settleUp(holding);
      if (n !== undefined && n <= place.stopped) return [];
      const ask = { type: 'task_claim', n: n ?? 1, max, waitMs } as const;
      const granted = await place.desk.answer(ask, AbortSignal.any([gone, stop.signal]), OPEN_ROOM);
      return (granted as readonly Granted[]).map((one) => this.#stepOf(one, place.desk.session.leaseMs));
    } finally {
      if (place.claiming?.stop === stop) place.claiming = undefined;
    }
  }

  /** Steps of an answer that could not be written. */
  async giveBack(said: WorkerSession, steps: readonly Step[]): Promise<void> {
    const session = await this.#open(said);
    await Promise.allSettled(steps.map(({ task, attempt }) => session.release({ task, attempt } as Assignment)));
  }

  /** The questions of the WebSocket, but for claims. What would be too much for one answer is left for the next. */
  async ask(said: WorkerSession, { asked }: BodyOf<'askNode'>): Promise<AnswerOf<'askNode'>> {
    const place = await this.#place(said);
    let reads = 0;
    const some = asked.filter(({ type }) => !READS.has(type as Asked['type']) || ++reads <= MAX_READS);
    return { answers: await Promise.all(some.map((one) => this.#answer(place, one))) };
  }

  async #answer(place: Place, value: { readonly n: number }): Promise<Answer> {
    const { n } = value;
    try {
      const answer = await this.#answerTo(place, checked('body', Asked, value) as Asked);
      const ok = { type: 'ok', re: n, value: answer } as const satisfies Said;
      if (!exceeds(JSON.stringify(ok), MAX_ANSWER_BYTES)) return ok;
      throw fault('TOO_LARGE', { field: 'answer', maxBytes: MAX_ANSWER_BYTES });
    } catch (error) {
      if (!isEngineError(error)) {
        this.#options.log.error('a worker could not be answered', { error: stackOf(error) });
      }
      return { type: 'refused', re: n, error: { ...errorOf(error).toJSON() } };
    }
  }

  async #answerTo(place: Place, asked: Asked): Promise<unknown> {
    if (asked.type === 'task_claim') {
      throw fault('INVALID_INPUT', { field: 'type', problem: 'claims have a call of their own' });
    }
    if (asked.type !== 'claim_stop') return place.desk.answer(asked, NEVER, OPEN_ROOM);
    place.stopped = Math.max(place.stopped, asked.claim);
    if (place.claiming !== undefined && place.claiming.n <= asked.claim) place.claiming.stop.abort();
    return undefined;
  }

  async events(said: WorkerSession, step: string, body: BodyOf<'appendEvents'>): Promise<AnswerOf<'appendEvents'>> {
    const lease = this.#requireLease(said, step, body.lease_token);
    const session = await this.#open(said);
    const now = this.#options.clock.wall();
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
  async #open(said: WorkerSession, schemas?: Hello['schemas']): Promise<Session> {
    return (await this.#place(said, schemas)).desk.session;
  }

  #place(said: WorkerSession, schemas?: Hello['schemas']): Promise<Place> {
    const holder = holderOf(said.name, said.worker);
    const place = this.#places.get(holder) ?? this.#enter(said, holder, schemas);
    this.#places.delete(holder);
    this.#places.set(holder, place);
    if (this.#places.size > MAX_PLACES) this.#places.delete(this.#places.keys().next().value as string);
    place.catch(() => this.#places.delete(holder));
    return place;
  }

  /** Its tags are those that its name was given, for as long as they are: it has none of its own. */
  async #enter(said: WorkerSession, holder: string, schemas: Hello['schemas']): Promise<Place> {
    const { worker, name, handlers, queues, slots, version, host, priority, pid, address, token } = said;
    const { link, leases, clock } = this.#options;
    const hello = {
      name,
      incarnation: worker,
      slots,
      tags: [],
      handlers,
      schemas,
      queues,
      version,
      host,
      priority,
      pid,
      address,
      token,
    };
    return { desk: new WorkerDesk(await link.open(hello), holder, leases, clock.monotonic), stopped: 0 };
  }

  #stepOf(one: Granted, leaseMs: number): Step {
    return {
      step_id: one.id,
      task: one.task,
      run_id: null,
      phase: one.handler,
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
      workspace: null,
    };
  }

  /** Undefined: whoever speaks does not have it, and never had. */
  #leaseOf(said: WorkerSession, step: string, token: string): Assignment | undefined {
    const [, attempt, proof = ''] = LEASE_TOKEN.exec(token) ?? [];
    if (attempt === undefined) return undefined;
    try {
      const task = this.#options.numberOf(step);
      const holder = holderOf(said.name, said.worker);
      return this.#options.leases.check({ task, attempt: Number(attempt), token: proof }, holder) as Assignment;
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

const NEVER = new AbortController().signal;
