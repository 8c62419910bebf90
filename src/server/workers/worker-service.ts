import type { ErrorBody } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { World } from '../../core/world.ts';
import type { Granted, LeaseProof, PlainEnd, ReleaseReport, WorkerRequest } from '../../protocol/frames.ts';
import { HeldLeases, keyOf } from '../../protocol/held-leases.ts';
import type {
  Assignment,
  Completion,
  RenewalAnswer,
  Session,
  Turned,
  WorkerReport,
  WorkerState,
} from '../../protocol/link.ts';
import { turnOf } from '../../protocol/turn-message.ts';
import type { DeskSession } from '../credentials/desk.ts';
import { parseBody } from '../http/json-body.ts';
import { errorOf } from '../http/refusals.ts';
import { answerArtifact } from '../transfers/artifact-requests.ts';
import { holderOf, isSame, type LeaseTokens } from './lease-tokens.ts';
import type { SendRoom } from './send-buffer.ts';
import { WaitingClaim } from './waiting-claim.ts';

type Fenced = Extract<WorkerRequest, { lease: unknown }>;
type Claiming = Extract<WorkerRequest, { type: 'task_claim' }>;
/** With the proof that this node made for it: to compare one takes a tenth of the time to make one. */
type Known = Assignment & { readonly token?: string };

/**
 * The bound of the inputs in one answer, in UTF-16 units. At three bytes each, with everything around them, the answer is
 * within its bound. A worker that does not read keeps as much here: 4 MiB made 1.2 GB with two hundred workers.
 */
const MOST_INPUT = 1024 * 1024;
/** Tasks in the first answer, while their size is unknown: of sixteen with 256 KiB each, twelve were read and released. */
const FIRST = 4;
/** A worker renews at a third of a lease. A lease that it did not mention for so many leases is not held. */
const FORGOTTEN_LEASES = 3;
/** How long a closing node waits for claims. A store that does not answer by then will not. */
const CLAIMS_END_MS = 5000;

/** Serves one worker incarnation, whichever connection it comes by: its grants and its requests. */
export class WorkerService {
  readonly session: Session;
  /** The credentials that it is given; undefined: it has no place for any. */
  credentials: DeskSession | undefined;
  /** The holder of its lease tokens: name and incarnation. */
  readonly #holder: string;
  readonly #tokens: LeaseTokens;
  readonly #now: () => number;
  /** Leases that were granted and not settled, as far as this node knows. */
  readonly #granted: HeldLeases<Known>;
  readonly #claims = new Set<WaitingClaim>();
  /** What it has told of its release, until that is written with a heartbeat. */
  #report: WorkerReport | undefined;
  /** The state in its last heartbeat. */
  #state: WorkerState | undefined;
  /** How many inputs like the last ones fit into an answer. Claiming more costs two writes for each task that is released. */
  #fitting = FIRST;

  constructor(session: Session, holder: string, tokens: LeaseTokens, now: () => number) {
    this.session = session;
    this.#holder = holder;
    this.#tokens = tokens;
    this.#now = now;
    this.#granted = new HeldLeases(now);
  }

  has(task: number): boolean {
    return this.#granted.has(task);
  }

  get holds(): boolean {
    return this.#granted.size > 0;
  }

  /** Goes with its next heartbeat. */
  tell(release: ReleaseReport | undefined): void {
    this.#report = release === undefined ? undefined : { metadata: { release } };
  }

  /** The worker is alive in the state that it sent last. */
  alive(): void {
    if (this.#state !== undefined) this.session.beat(this.#state).catch(() => {});
  }

  /**
   * Releases, with their tries, the tasks that were granted and never reached the worker. The leases that it proves are
   * known from now on.
   */
  async reconcile(holding: readonly LeaseProof[]): Promise<void> {
    // A wrong proof is no lease: renewing it answers `lost`.
    const held = holding.filter((proof) => this.#tokens.proves(proof, this.#holder));
    const known = new Set(held.map(keyOf));
    const lost = this.#granted.all().filter((one) => !known.has(keyOf(one)));
    for (const { task, attempt } of held) this.#granted.put(this.#assignment({ task, attempt }));
    for (const one of lost) this.#granted.drop(one);
    await this.#giveBack(lost);
  }

  /** Resolves when the claims under way have ended. Their callers must have hung up, or the claims may wait for long. */
  async claimsDone(): Promise<void> {
    await Promise.allSettled([...this.#claims].flatMap(({ over }) => over ?? []));
  }

  /** Answers one request; rejects with the error for the worker. `hangUp`: nobody reads the answer any more. */
  async answer(request: WorkerRequest, hangUp: AbortSignal, room: SendRoom): Promise<unknown> {
    if ('lease' in request) return this.#fenced(request);
    switch (request.type) {
      case 'task_claim':
        return this.#claim(request, hangUp, room);
      case 'claim_stop':
        for (const claim of this.#claims) if (claim.n === request.claim) claim.stop();
        return undefined;
      case 'tasks_complete':
        return this.#completeMany(request.ends);
      case 'lease_renew':
        return this.#renew(request.leases);
      case 'cancels':
        return this.session.cancels();
      case 'credential_ack': {
        const { name, version, status, level, error } = request;
        return this.credentials?.ack({ name, version, status, level, error });
      }
      case 'heartbeat':
        this.#state = request.state;
        return this.#beat(request.state);
    }
  }

  async #beat(state: WorkerState): Promise<void> {
    const report = this.#report;
    await this.session.beat(state, report);
    if (this.#report === report) this.#report = undefined;
  }

  async #claim(request: Claiming, hangUp: AbortSignal, room: SendRoom): Promise<unknown> {
    if (hangUp.aborted) return [];
    const claim = new WaitingClaim(request.n);
    const end = (): void => claim.stop();
    hangUp.addEventListener('abort', end, { once: true });
    this.#claims.add(claim);
    this.#granted.dropOlderThan(FORGOTTEN_LEASES * this.session.leaseMs);
    const claiming = this.#claimFor(request, claim, room);
    claim.over = claiming;
    try {
      return await claiming;
    } finally {
      this.#claims.delete(claim);
      hangUp.removeEventListener('abort', end);
    }
  }

  /** Nothing is claimed for a worker that does not read: its inputs would pile up here. */
  async #claimFor({ max, waitMs }: Claiming, claim: WaitingClaim, room: SendRoom): Promise<readonly Granted[]> {
    const deadline = this.#now() + waitMs;
    for (let leftMs = waitMs; ; leftMs = Math.max(0, deadline - this.#now())) {
      await room.room(claim.begin());
      if (claim.isStopped) return [];
      const signal = claim.begin();
      const unlisten = room.onFull(() => claim.end());
      const wanted = Math.min(max, this.#fitting);
      const granted = await this.session.claim({ max: wanted, waitMs: leftMs, signal }).finally(unlisten);
      if (granted.length > 0) this.#fitting = fitting(granted);
      const cutShort = signal.aborted || room.isFull;
      const sent = claim.isStopped || room.isFull ? [] : granted.slice(0, howManyFit(granted));
      room.expect(unitsOf(sent));
      const proven = sent.map((one) => this.#grantOf(one));
      // Tasks that nobody hears of, or that do not fit into one answer.
      if (sent.length < granted.length) await this.#giveBack(granted.slice(sent.length));
      if (sent.length > 0 || !cutShort || claim.isStopped) return proven;
    }
  }

  /** A wrong proof among many does not affect the others. */
  async #renew(proofs: readonly LeaseProof[]): Promise<readonly RenewalAnswer[]> {
    const right = proofs.filter((proof) => this.#tokens.proves(proof, this.#holder));
    const leases = right.map(({ task, attempt }) => ({ task, attempt }));
    const answers = await this.session.renew(leases);
    const answerTo = new Map<LeaseProof, RenewalAnswer>();
    for (const [i, proof] of right.entries()) {
      const answer = answers[i] as RenewalAnswer;
      answerTo.set(proof, answer);
      if (answer === 'lost') this.#granted.drop(proof);
      else this.#granted.renewed(proof);
    }
    return proofs.map((proof) => answerTo.get(proof) ?? 'lost');
  }

  /** The assignment with its proof, known from now on. What the link attached to it to save a read stays here. */
  #grantOf(one: Assignment): Granted {
    const token = this.#tokens.of(one, this.#holder);
    // The input is on its way and is not kept here.
    this.#granted.put({ ...one, payload: '', token });
    const { grant: _, ...assignment } = one as Assignment & { readonly grant?: unknown };
    return { ...assignment, token };
  }

  async #fenced(request: Fenced): Promise<unknown> {
    const lease = this.#proven(request.lease, this.#holderFor(request));
    try {
      const value = await this.#perform(lease, request);
      const stays = request.type === 'task_turn' && KEEPS_LEASE.has((value as Turned).went);
      if (ENDING.has(request.type) && !stays) this.#granted.drop(lease);
      return value;
    } catch (error) {
      if (isLost(error)) this.#granted.drop(lease);
      throw error;
    }
  }

  /**
   * A worker may report what an earlier start of it left unsent: logs and ends, under the same fence. Leases are not
   * inherited: every other request is refused, and nothing renews them.
   */
  #holderFor(request: Fenced): string {
    const { incarnation } = request.lease;
    if (incarnation === undefined || !isLeftover(request)) return this.#holder;
    return holderOf(this.#holder.slice(0, this.#holder.indexOf('/')), incarnation);
  }

  /** Plain ends in one call: one promise for all of them, and one answer for each. */
  async #completeMany(ends: readonly PlainEnd[]): Promise<readonly (ErrorBody | null)[]> {
    const answers: (ErrorBody | null)[] = ends.map(() => null);
    const right: Completion[] = [];
    const places: number[] = [];
    for (const [i, { lease, result }] of ends.entries()) {
      try {
        right.push({ lease: this.#proven(lease, this.#holder), result: parsed(result) });
        places.push(i);
      } catch (error) {
        answers[i] = errorOf(error).toJSON();
      }
    }
    const settled = await this.#settleAll(right);
    for (const [at, { lease }] of right.entries()) {
      const error = settled[at];
      if (error !== undefined) answers[places[at] as number] = errorOf(error).toJSON();
      if (error === undefined || isLost(error)) this.#granted.drop(lease);
    }
    return answers;
  }

  async #settleAll(ends: readonly Completion[]): Promise<readonly (Error | undefined)[]> {
    const { session } = this;
    if (session.completeMany !== undefined) return session.completeMany(ends);
    const settled = await Promise.allSettled(ends.map(({ lease, result }) => session.complete(lease, result)));
    return settled.map((one) => (one.status === 'rejected' ? (one.reason as Error) : undefined));
  }

  #proven(proof: LeaseProof, holder: string): Assignment {
    const known = this.#granted.get(proof);
    const isOwn = known?.token !== undefined && holder === this.#holder && isSame(proof.token, known.token);
    const lease = isOwn ? known : this.#tokens.check(proof, holder);
    return known ?? (lease as Assignment);
  }

  /** After a restart of this node a lease is known by its proof alone. */
  #assignment(lease: Lease): Assignment {
    return this.#granted.get(lease) ?? (lease as Assignment);
  }

  #perform(lease: Assignment, request: Fenced): Promise<unknown> {
    const { session } = this;
    switch (request.type) {
      case 'task_complete':
        return session.complete(lease, parsed(request.result));
      case 'task_failed': {
        const { giveUp, retryAfterMs, limit } = request;
        return session.fail(lease, parsed(request.error), {
          ...(giveUp === undefined ? {} : { giveUp }),
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
          ...(limit === undefined ? {} : { limit }),
        });
      }
      case 'task_release': {
        const { bounced, delayMs } = request;
        return session.release(lease, {
          ...(bounced === undefined ? {} : { bounced }),
          ...(delayMs === undefined ? {} : { delayMs }),
        });
      }
      case 'task_cancelled':
        return session.cancelled(lease);
      case 'task_progress':
        return session.log(lease, request.logs);
      case 'journal':
        return session.journal(lease);
      case 'task_turn':
        return session.turn(lease, turnOf(request, parseBody));
      case 'waited':
        return session.waited(lease);
      case 'results':
        return session.results(lease, request.tasks);
      case 'dependencies':
        return session.dependencies(lease);
      case 'cancel_children':
        return session.cancelChildren(lease, request.tasks);
      case 'definition':
        return session.definition(lease, request.hash);
      case 'reusable':
        return session.reusable(lease);
      case 'keep':
        return session.keep(lease, parsed(request.result));
      case 'artifact_begin':
      case 'artifact_end':
      case 'artifact_find':
      case 'artifact_list':
      case 'artifact_fetch':
        return answerArtifact(session.artifactTransfers, lease, request);
    }
  }

  async #giveBack(assignments: readonly Assignment[]): Promise<void> {
    await Promise.allSettled(assignments.map((one) => this.session.release(one)));
  }
}

/**
 * Waits for claims before a node closes its store. A claim that is granted while its worker has gone elsewhere must be
 * released, or nobody has the task until its lease runs out.
 */
export async function claimsDone(services: Iterable<WorkerService>, { timers }: Pick<World, 'timers'>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = timers.after(CLAIMS_END_MS, late.resolve, { unref: true });
  await Promise.race([Promise.all([...services].map((service) => service.claimsDone())), late.promise]);
  cancel();
}

const ENDING: ReadonlySet<WorkerRequest['type']> = new Set([
  'task_complete',
  'task_failed',
  'task_release',
  'task_cancelled',
  'task_turn',
]);

/** The worker still holds its lease after these. */
const KEEPS_LEASE: ReadonlySet<Turned['went']> = new Set(['on', 'woken']);

const LEFTOVERS: ReadonlySet<WorkerRequest['type']> = new Set([
  'task_progress',
  'keep',
  'task_complete',
  'task_failed',
  'task_release',
  'task_cancelled',
]);

/** Whether a request ends an attempt or logs for it. */
function isLeftover(request: Fenced): boolean {
  if (request.type === 'task_turn') return request.then.go === 'complete' || request.then.go === 'fail';
  return LEFTOVERS.has(request.type);
}

function isLost(error: unknown): boolean {
  return (error as { readonly code?: unknown }).code === 'LEASE_LOST';
}

/** At least one: the bound of an input is far below that of an answer. */
function howManyFit(assignments: readonly Assignment[]): number {
  let size = 0;
  const over = assignments.findIndex(({ payload }, i) => (size += payload.length) > MOST_INPUT && i > 0);
  return over === -1 ? assignments.length : over;
}

/** How many tasks like these fit into one answer. */
function fitting(assignments: readonly Assignment[]): number {
  const mean = unitsOf(assignments) / assignments.length;
  return Math.max(1, Math.floor(MOST_INPUT / Math.max(1, mean)));
}

function unitsOf(assignments: readonly Assignment[]): number {
  return assignments.reduce((sum, { payload }) => sum + payload.length, 0);
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : parseBody(text);
}
