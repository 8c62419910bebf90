import { fault, isEngineError } from '../../core/errors.ts';
import type { Clock } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import { exceeds, type Granted, MAX_ANSWER_BYTES, type NodeMessage, WorkerRequest } from '../../protocol/frames.ts';
import type { Assignment, Hello, Link, Session } from '../../protocol/link.ts';
import type { AnswerOf, BodyOf } from '../../protocol/routes.ts';
import type { Principal } from '../auth/access.ts';
import { checked } from '../http/caller.ts';
import { errorOf, stackOf } from '../http/refusals.ts';
import { requireGiven } from './given-tags.ts';
import { holderOf, type LeaseTokens } from './lease-tokens.ts';
import { UNBOUNDED } from './send-buffer.ts';
import type { SessionTokens, WorkerSession } from './session-tokens.ts';
import { READS } from './worker-connection.ts';
import { WorkerService } from './worker-service.ts';

export interface HttpWorkersOptions {
  readonly link: Link;
  readonly leases: LeaseTokens;
  readonly sessions: SessionTokens;
  /** What is said of a worker's name. */
  readonly settingOf: (name: string) => Promise<{ readonly enabled: boolean; readonly tags: readonly string[] }>;
  readonly clock: Clock;
  readonly log: Log;
}

type Answer = AnswerOf<'askNode'>['answers'][number];

/** What a worker says of itself, whose name is that of its secret. */
export type Joining = Omit<BodyOf<'joinWorker'>, 'name'> & { readonly name?: string | undefined };

/** Of one session, on this node. */
interface Place {
  readonly service: WorkerService;
  /** The claim that waits, of a worker that counts its claims. */
  claiming?: { readonly n: number; readonly stop: AbortController } | undefined;
  /** Claims up to this one were stopped, though one of them may come after the word that stops it. */
  stopped: number;
}

/** What is asked of one claim; who does not count them has one at a time. */
export interface Taking {
  readonly max: number;
  readonly waitMs: number;
  readonly n?: number;
  readonly holding?: BodyOf<'takeTasks'>['holding'];
}

/** The worker that has said nothing for longest is forgotten beyond so many; its session token brings it back. */
const MAX_PLACES = 10_000;
/** It is a header, and all headers together are 16 KiB at most. */
const MAX_TOKEN = 12_000;
/** Questions of one request whose answers can be large. */
const MAX_READS = 8;

/** Workers that come by plain HTTP: each request names its session by a token, and is answered by whichever node it comes to. */
export class HttpWorkers {
  readonly #options: HttpWorkersOptions;
  /** The one that spoke last comes last. */
  readonly #places = new Map<string, Promise<Place>>();

  constructor(options: HttpWorkersOptions) {
    this.#options = options;
  }

  async join(body: Joining, principal: Principal, address?: string): Promise<AnswerOf<'joinWorker'>> {
    const { name, incarnation, schemas, ...told } = body;
    if (principal.token === undefined) throw fault('FORBIDDEN', { problem: 'this needs the secret of a worker' });
    if (name !== undefined && name !== principal.name) {
      throw fault('FORBIDDEN', { problem: 'the secret is not that of this worker' });
    }
    if (told.handlers.length === 0) {
      throw fault('INVALID_INPUT', { field: 'handlers', problem: 'it names no handler that the worker runs' });
    }
    requireGiven(principal.name, told.tags, (await this.#options.settingOf(principal.name)).tags);
    const said: WorkerSession = { ...told, name: principal.name, worker: incarnation, token: principal.token, address };
    const session = this.#options.sessions.write(said);
    if (session.length > MAX_TOKEN) {
      throw fault(
        'TOO_LARGE',
        { field: 'handlers', maxBytes: MAX_TOKEN },
        { hint: 'They go with every call. Name fewer handlers and queues, or join over the WebSocket.' },
      );
    }
    const { leaseMs } = (await this.#place(said, schemas)).service.session;
    return { worker: said.worker, session, leaseMs };
  }

  read(session: string): WorkerSession {
    return this.#options.sessions.read(session);
  }

  /** `gone`: nobody waits for the answer any more. What nobody hears of goes back with its try. */
  async take(said: WorkerSession, taking: Taking, gone: AbortSignal): Promise<readonly Granted[]> {
    const place = await this.#place(said);
    const { max, waitMs, n, holding } = taking;
    const stop = new AbortController();
    if (n !== undefined) {
      // Who claims again has not heard the answer before, and will not.
      place.claiming?.stop.abort();
      place.claiming = { n, stop };
    }
    try {
      if (holding !== undefined) await place.service.settleUp(holding);
      if (n !== undefined && n <= place.stopped) return [];
      const ask = { type: 'task_claim', n: n ?? 1, max, waitMs } as const;
      const granted = await place.service.answer(ask, AbortSignal.any([gone, stop.signal]), UNBOUNDED);
      return granted as readonly Granted[];
    } finally {
      if (place.claiming?.stop === stop) place.claiming = undefined;
    }
  }

  /** Tasks of an answer that could not be written. */
  async giveBack(said: WorkerSession, tasks: readonly { task: number; attempt: number }[]): Promise<void> {
    const session = await this.open(said);
    await Promise.allSettled(tasks.map(({ task, attempt }) => session.release({ task, attempt } as Assignment)));
  }

  /** The questions of the WebSocket, but for claims. What would be too much for one answer is left for the next. */
  async ask(said: WorkerSession, { asked }: BodyOf<'askNode'>): Promise<AnswerOf<'askNode'>> {
    const place = await this.#place(said);
    let reads = 0;
    const some = asked.filter(({ type }) => !READS.has(type as WorkerRequest['type']) || ++reads <= MAX_READS);
    return { answers: await Promise.all(some.map((one) => this.#answer(place, one))) };
  }

  async #answer(place: Place, value: { readonly n: number }): Promise<Answer> {
    const { n } = value;
    try {
      const answer = await this.#answerTo(place, checked('body', WorkerRequest, value) as WorkerRequest);
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

  async #answerTo(place: Place, asked: WorkerRequest): Promise<unknown> {
    if (asked.type === 'task_claim') {
      throw fault('INVALID_INPUT', { field: 'type', problem: 'claims have a call of their own' });
    }
    if (asked.type !== 'claim_stop') return place.service.answer(asked, NEVER, UNBOUNDED);
    place.stopped = Math.max(place.stopped, asked.claim);
    if (place.claiming !== undefined && place.claiming.n <= asked.claim) place.claiming.stop.abort();
    return undefined;
  }

  /** The session of a worker, on whichever node it comes. */
  async open(said: WorkerSession): Promise<Session> {
    return (await this.#place(said)).service.session;
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
    const { worker: incarnation, ...told } = said;
    const { link, leases, clock } = this.#options;
    const session = await link.open({ ...told, incarnation, schemas, queues: told.queues, tags: [] });
    return { service: new WorkerService(session, holder, leases, clock.monotonic), stopped: 0 };
  }
}

const NEVER = new AbortController().signal;
