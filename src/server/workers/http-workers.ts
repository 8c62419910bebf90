import { fault, isEngineError } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import type { CredentialAck, CredentialOrder, VaultReport } from '../../protocol/credential-envelope.ts';
import {
  exceeds,
  type Granted,
  MAX_ANSWER_BYTES,
  type NodeMessage,
  REQUEST_TYPES,
  WorkerRequest,
} from '../../protocol/frames.ts';
import type { Assignment, Hello, Link, Session } from '../../protocol/link.ts';
import type { AnswerOf, BodyOf } from '../../protocol/routes.ts';
import type { Principal } from '../auth/access.ts';
import type { CredentialDesk } from '../credentials/desk.ts';
import { isExposed, type Surroundings } from '../credentials/exposure.ts';
import { checked } from '../http/caller.ts';
import { errorOf, stackOf } from '../http/refusals.ts';
import { CallSession } from './call-session.ts';
import { grantedHandlers, leftOut, requireGiven } from './given-to-name.ts';
import { holderOf, type LeaseTokens } from './lease-tokens.ts';
import { UNBOUNDED } from './send-buffer.ts';
import type { SessionTokens, WorkerSession } from './session-tokens.ts';
import { READS } from './worker-connection.ts';
import type { WorkerNames } from './worker-names.ts';
import { WorkerService } from './worker-service.ts';
import type { WorkerSetting } from './worker-settings.ts';

export interface HttpWorkersOptions {
  readonly link: Link;
  readonly leases: LeaseTokens;
  readonly sessions: SessionTokens;
  /** The settings of the name of a worker that joins, and offers these handlers. */
  readonly settingOfJoining: (name: string, offered: readonly string[]) => Promise<WorkerSetting>;
  /** Shared with the workers that come by other links. */
  readonly names: WorkerNames;
  readonly clock: Clock;
  readonly log: Log;
  /** Gives workers the credentials that they were chosen for; undefined: this node gives none. */
  readonly desk?: CredentialDesk | undefined;
  readonly surroundings?: Surroundings | undefined;
}

/** The request that a worker has made, as it came. */
type RawRequest = Parameters<typeof isExposed>[0];

/** What a heartbeat says of credentials. */
export interface CredentialBeat {
  readonly vault: VaultReport;
  readonly acks: readonly CredentialAck[];
}

/** In one answer. */
const MOST_ORDERS = 50;

type Answer = AnswerOf<'askNode'>['answers'][number];

/** The registration of a worker. Its name is that of its secret. */
export type JoinInput = Omit<BodyOf<'joinWorker'>, 'name'> &
  Pick<WorkerSession, 'perHost'> & { readonly name?: string | undefined };

/** A session on this node. */
interface OpenSession {
  readonly service: WorkerService;
  readonly calls: CallSession;
  /** The waiting claim of a worker that numbers its claims. */
  claiming?: { readonly n: number; readonly stop: AbortController } | undefined;
  /** Claims up to this number are stopped. A claim may arrive after the request that stops it. */
  stopped: number;
}

/** One claim. A worker that does not number its claims has one at a time. */
export interface ClaimInput {
  readonly max: number;
  readonly waitMs: number;
  readonly n?: number;
  readonly holding?: BodyOf<'takeTasks'>['holding'];
}

/** Beyond so many, the session that was silent for longest is dropped. Its session token brings it back. */
const MAX_SESSIONS = 10_000;
/** The token is a header, and all headers together have 16 KiB at most. */
const MAX_TOKEN = 12_000;
/** Reads in one request, whose answers can be large. */
const MAX_READS = 8;

/** Workers over plain HTTP. Each request carries its session as a token, so that any node can answer it. */
export class HttpWorkers {
  readonly #options: HttpWorkersOptions;
  /** In the order of their last request. */
  readonly #openSessions = new Map<string, { readonly token: number; readonly opened: Promise<OpenSession> }>();
  /** Sessions whose place a later start of the same worker has taken. */
  readonly #replaced = new Set<string>();

  constructor(options: HttpWorkersOptions) {
    this.#options = options;
  }

  /** `raw`: the request, of a worker that may be given credentials. */
  async join(
    body: JoinInput,
    principal: Principal,
    address?: string,
    raw?: RawRequest,
  ): Promise<AnswerOf<'joinWorker'>> {
    const { name, incarnation, schemas, vault, ...hello } = body;
    if (principal.token === undefined) throw fault('FORBIDDEN', { problem: 'this needs the secret of a worker' });
    if (name !== undefined && name !== principal.name) {
      throw fault('FORBIDDEN', { problem: 'the secret is not that of this worker' });
    }
    if (hello.handlers.length === 0) {
      throw fault('INVALID_INPUT', { field: 'handlers', problem: 'it names no handler that the worker runs' });
    }
    const setting = await this.#options.settingOfJoining(principal.name, hello.handlers);
    const handlers = [...grantedHandlers(hello.handlers, setting)];
    requireGiven(principal.name, { ...hello, handlers }, setting);
    const session: WorkerSession = {
      ...hello,
      handlers,
      name: principal.name,
      worker: incarnation,
      token: principal.token,
      address,
    };
    const token = this.#options.sessions.write(session);
    if (token.length > MAX_TOKEN) {
      throw fault(
        'TOO_LARGE',
        { field: 'handlers', maxBytes: MAX_TOKEN },
        { hint: 'The handlers go with every call. Name fewer handlers and queues, or join over the WebSocket.' },
      );
    }
    const open = (
      await this.#sessionOf(
        session,
        schemas?.filter(({ handler }) => handlers.includes(handler) || !hello.handlers.includes(handler)),
      )
    ).service;
    await this.#comes(open, session.name, vault, raw);
    const { leaseMs } = open.session;
    const signed = open.credentials === undefined ? {} : { signer: open.credentials.signer };
    const missing = leftOut(hello.handlers, handlers);
    const told = missing.length === 0 ? {} : { leftOut: missing };
    return { worker: session.worker, session: token, leaseMs, can: REQUEST_TYPES, ...told, ...signed };
  }

  /** What is to be stored and removed now. What it has acknowledged counts before what it says that it holds. */
  async credentials(
    session: WorkerSession,
    { vault, acks }: CredentialBeat,
    raw: RawRequest,
  ): Promise<readonly CredentialOrder[]> {
    const { service, calls } = await this.#sessionOf(session);
    return calls.during(async () => {
      // This node has not seen it join, or its link is another one now.
      if (service.credentials?.exposed !== this.#isExposed(raw)) await this.#comes(service, session.name, vault, raw);
      for (const ack of acks) await service.credentials?.ack(ack);
      await service.credentials?.said(vault);
      return (await service.credentials?.fetch(MOST_ORDERS)) ?? [];
    });
  }

  async #comes(
    service: WorkerService,
    name: string,
    vault: VaultReport | undefined,
    raw: RawRequest | undefined,
  ): Promise<void> {
    const { desk } = this.#options;
    service.credentials = await desk?.open({ name, vault, exposed: this.#isExposed(raw), connected: false });
  }

  #isExposed(raw: RawRequest | undefined): boolean {
    const { surroundings = { behindProxy: false } } = this.#options;
    return raw === undefined || isExposed(raw, surroundings);
  }

  read(token: string): WorkerSession {
    return this.#options.sessions.read(token);
  }

  /** `hangUp`: nobody waits for the answer any more. Tasks of an answer that nobody reads are released with their tries. */
  async take(session: WorkerSession, claim: ClaimInput, hangUp: AbortSignal): Promise<readonly Granted[]> {
    const open = await this.#sessionOf(session);
    const { max, waitMs, n, holding } = claim;
    const stop = new AbortController();
    if (n !== undefined) {
      // A worker that claims again did not get the answer before, and will not.
      open.claiming?.stop.abort();
      open.claiming = { n, stop };
    }
    try {
      return await open.calls.during(async () => {
        if (holding !== undefined) await open.service.reconcile(holding);
        if (n !== undefined && n <= open.stopped) return [];
        const request = { type: 'task_claim', n: n ?? 1, max, waitMs } as const;
        const granted = await open.service.answer(request, AbortSignal.any([hangUp, stop.signal]), UNBOUNDED);
        return granted as readonly Granted[];
      });
    } finally {
      if (open.claiming?.stop === stop) open.claiming = undefined;
    }
  }

  /** Releases the tasks of an answer that could not be written. */
  async giveBack(session: WorkerSession, tasks: readonly { task: number; attempt: number }[]): Promise<void> {
    const link = await this.open(session);
    await Promise.allSettled(tasks.map(({ task, attempt }) => link.release({ task, attempt } as Assignment)));
  }

  /** The requests of the WebSocket, except claims. Reads beyond what fits into one answer are left for the next request. */
  async ask(session: WorkerSession, { asked }: BodyOf<'askNode'>): Promise<AnswerOf<'askNode'>> {
    const open = await this.#sessionOf(session);
    let reads = 0;
    const some = asked.filter(({ type }) => !READS.has(type as WorkerRequest['type']) || ++reads <= MAX_READS);
    const answers = await open.calls.during(() => Promise.all(some.map((one) => this.#answer(open, one))));
    if (asked.some((one) => one.type === 'heartbeat' && 'state' in one && one.state === 'offline'))
      open.calls.signOff();
    return { answers };
  }

  async #answer(open: OpenSession, value: { readonly n: number }): Promise<Answer> {
    const { n } = value;
    try {
      const answer = await this.#answerTo(open, checked('body', WorkerRequest, value) as WorkerRequest);
      const ok = { type: 'ok', re: n, value: answer } as const satisfies NodeMessage;
      if (!exceeds(JSON.stringify(ok), MAX_ANSWER_BYTES)) return ok;
      throw fault('TOO_LARGE', { field: 'answer', maxBytes: MAX_ANSWER_BYTES });
    } catch (error) {
      if (!isEngineError(error)) {
        this.#options.log.error('a worker could not be answered', { error: stackOf(error) });
      }
      return { type: 'refused', re: n, error: { ...errorOf(error).toJSON() } };
    }
  }

  async #answerTo(open: OpenSession, request: WorkerRequest): Promise<unknown> {
    if (request.type === 'task_claim') {
      throw fault('INVALID_INPUT', { field: 'type', problem: 'claims have a call of their own' });
    }
    if (request.type !== 'claim_stop') return open.service.answer(request, NEVER, UNBOUNDED);
    open.stopped = Math.max(open.stopped, request.claim);
    if (open.claiming !== undefined && open.claiming.n <= request.claim) open.claiming.stop.abort();
    return undefined;
  }

  /** The link session of a worker, on whichever node it calls. */
  async open(session: WorkerSession): Promise<Session> {
    const { service, calls } = await this.#sessionOf(session);
    return calls.during(() => Promise.resolve(service.session));
  }

  /** The worker said that it goes: its name is free. */
  async signOff(session: WorkerSession): Promise<void> {
    (await this.#sessionOf(session)).calls.signOff();
  }

  #sessionOf(session: WorkerSession, schemas?: Hello['schemas']): Promise<OpenSession> {
    const holder = holderOf(session.name, session.worker);
    const { token } = session;
    const known = this.#openSessions.get(holder);
    // A worker whose secret was replaced joins again as the same incarnation. Its session of before claims nothing any more.
    const opened = known?.token === token ? known.opened : this.#openSession(session, holder, schemas);
    this.#openSessions.delete(holder);
    this.#openSessions.set(holder, { token, opened });
    if (this.#openSessions.size > MAX_SESSIONS)
      this.#openSessions.delete(this.#openSessions.keys().next().value as string);
    opened.catch(() => {
      if (this.#openSessions.get(holder)?.opened === opened) this.#openSessions.delete(holder);
    });
    return opened;
  }

  /** The same incarnation may come back by any link. */
  #forget(holder: string, forGood: boolean): void {
    this.#openSessions.delete(holder);
    if (!forGood) return;
    if (this.#replaced.size >= MAX_SESSIONS) this.#replaced.clear();
    this.#replaced.add(holder);
  }

  /** The worker has no tags of its own: it carries what its name was given, as long as that lasts. */
  async #openSession(session: WorkerSession, holder: string, schemas: Hello['schemas']): Promise<OpenSession> {
    const { worker: incarnation, perHost = false, ...hello } = session;
    const { link, leases, clock, names } = this.#options;
    if (this.#replaced.has(holder))
      throw fault('CONFLICT', { problem: 'a later start of this worker has taken its place' });
    const speaker = perHost ? holderOf(session.name, `on ${session.host ?? session.address ?? ''}`) : holder;
    const calls = new CallSession(speaker, clock.monotonic, () => this.#forget(holder, perHost));
    names.take(session.name, calls);
    try {
      const opened = await names.enter(session.name, calls, () =>
        link.open({ ...hello, incarnation, schemas, queues: hello.queues, tags: [], holder: speaker }),
      );
      return { service: new WorkerService(opened, holder, leases, clock.monotonic), calls, stopped: 0 };
    } catch (error) {
      names.release(session.name, calls);
      throw error;
    }
  }
}

const NEVER = new AbortController().signal;
