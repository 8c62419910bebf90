import { createHash } from 'node:crypto';
import { fault } from '../core/errors.ts';
import { checkName } from '../core/names.ts';
import { ANYWHERE, type Candidate, eligible } from '../core/placement/placement.ts';
import {
  decidePool,
  type PoolDecision,
  type PoolReason,
  type PoolState,
  type PoolWorker,
} from '../core/pools/decide.ts';
import { checkPool, type LauncherSpec, type PolicyInput, type PoolInput, type PoolSpec } from '../core/pools/pool.ts';
import { ticketId } from '../core/pools/ticket.ts';
import { NEVER } from '../core/schedule/due.ts';
import type {
  DecisionRecord,
  Lane,
  NewTicket,
  PoolActed,
  PoolLook,
  PoolRecord,
  Store,
  TicketRecord,
} from '../store/store.ts';
import { NO_WORK, type QueueScale, queueScale } from './read/scale.ts';

export interface Pool extends PoolSpec {
  readonly name: string;
  readonly revision: number;
  readonly createdAt: number;
  readonly changedAt: number;
  readonly changedBy: string;
}

/** What a check of a pool has found, and would do. */
export interface PoolPlan {
  readonly pool: Pool;
  readonly state: PoolState;
  readonly decision: PoolDecision;
  /** Carrying it out would write something. */
  readonly due: boolean;
  /** The decision as it is kept; undefined: it is the same as the newest. */
  readonly note: DecisionNote | undefined;
  /** Something may change after so long without an event. */
  readonly againMs: number | undefined;
}

/** A decision as it is kept, with the figures that it was made from. */
export interface DecisionNote {
  readonly want: number;
  readonly there: number;
  readonly launch: number;
  readonly drain: number;
  readonly reasons: readonly PoolReason[];
  readonly runnable: number;
  readonly blocked: number;
  readonly oldestAgeMs: number;
  readonly starting: number;
  readonly busy: number;
  readonly idle: number;
  readonly leaving: number;
}

export interface Decision extends DecisionNote {
  readonly n: number;
  readonly at: number;
  readonly launched: number;
  readonly drained: number;
}

/** What became of one start. `unknown`: the launcher has not answered in time; its worker may still come. */
export interface PoolLaunch {
  readonly ticket: string;
  readonly outcome: 'started' | 'failed' | 'unknown';
  /** What was started, or why nothing was. */
  readonly said: string;
}

export interface PoolCheck {
  readonly plan: PoolPlan;
  /** Undefined: there was nothing to do, or it was a dry run. */
  readonly acted: PoolActed | undefined;
  readonly launches: readonly PoolLaunch[];
}

export interface CheckTerms {
  /** Only says what it would do. */
  readonly dryRun?: boolean;
  /** Of a dry run: in place of the policy that the pool has. */
  readonly policy?: PolicyInput | undefined;
}

/** Checks a pool and starts workers. */
export type PoolChecker = (name: string, terms: CheckTerms) => Promise<PoolCheck>;

export interface PoolsDeps {
  readonly store: Pick<
    Store,
    | 'poolPut'
    | 'poolGet'
    | 'poolList'
    | 'poolRemove'
    | 'poolLook'
    | 'poolAct'
    | 'ticketNote'
    | 'ticketList'
    | 'decisionList'
    | 'queueList'
    | 'laneScan'
    | 'laneGet'
    | 'laneDepth'
    | 'counterGet'
    | 'clock'
  >;
  /** How long a worker may be silent before it counts as gone. */
  readonly staleMs: number;
  /** Workers were sent home: claims read them again. */
  readonly onDrained: () => void;
}

const MOST_POOLS = 1000;
const MOST_NOTE = 500;
const MOST_STARTED = 200;

/** Pools of workers: what they are, what a check of one would do, and its writes. `fleet` starts the workers. */
export class Pools {
  readonly #deps: PoolsDeps;
  readonly #listeners = new Set<() => void>();
  #checker: PoolChecker | undefined;
  #checkLauncher: ((launcher: LauncherSpec) => Promise<void>) | undefined;

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
  }

  /** Calls back when this process has made, changed or removed a pool. Returns a function that ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Makes or replaces a pool. With `revision`, only if nobody has changed it since. */
  async put(
    name: string,
    input: PoolInput,
    { by = 'library', revision }: { readonly by?: string | undefined; readonly revision?: number | undefined } = {},
  ): Promise<Pool> {
    const spec = checkPool(name, input);
    await this.#checkLauncher?.(spec.launcher);
    const body = JSON.stringify(spec);
    const known = await this.#deps.store.poolGet({ name });
    if (known === undefined && (await this.list()).length >= MOST_POOLS)
      throw fault('LIMIT_REACHED', { limit: `${MOST_POOLS} pools` });
    const answer = await this.#deps.store.poolPut({ name, body, by, revision });
    if (answer.kind === 'changed') {
      const problem = `the pool ${name} was changed, made or removed meanwhile`;
      throw fault('CONFLICT', { problem }, { hint: 'Nothing was changed. Look at it as it is now, then change it.' });
    }
    this.#changed();
    return this.get(name);
  }

  async find(name: string): Promise<Pool | undefined> {
    const record = await this.#deps.store.poolGet({ name: checkName('pool', name) });
    return record && poolOf(record);
  }

  async get(name: string): Promise<Pool> {
    const found = await this.find(name);
    if (found !== undefined) return found;
    throw unknown(name);
  }

  /** By name. */
  async list(): Promise<readonly Pool[]> {
    return (await this.#deps.store.poolList({ after: '', limit: MOST_POOLS })).map(poolOf);
  }

  /** With its tickets and decisions. A worker that is still to come is refused; those that are there stay. */
  async remove(name: string): Promise<void> {
    if (!(await this.#deps.store.poolRemove({ name: checkName('pool', name) }))) throw unknown(name);
    this.#changed();
  }

  /** Who starts workers in this process. */
  checksWith(checker: PoolChecker, checkLauncher: (launcher: LauncherSpec) => Promise<void>): void {
    this.#checker = checker;
    this.#checkLauncher = checkLauncher;
  }

  /** Checks a pool now: starts workers, or sends some home. */
  async check(name: string, terms: CheckTerms = {}): Promise<PoolCheck> {
    if (terms.dryRun === true) return { plan: await this.plan(name, terms.policy), acted: undefined, launches: [] };
    if (this.#checker === undefined) throw fault('UNSUPPORTED', {}, { hint: 'This process starts no workers.' });
    return this.#checker(name, terms);
  }

  /** What a check would do now, or would do with another policy. Reads only. */
  async plan(name: string, policy?: PolicyInput): Promise<PoolPlan> {
    const { store, staleMs } = this.#deps;
    const look = await store.poolLook({ name: checkName('pool', name), staleMs });
    if (look === undefined) throw unknown(name);
    const stored = poolOf(look.pool);
    const pool = policy === undefined ? stored : { ...stored, policy: checkPool(name, { policy }).policy };
    const work = await this.#work(pool);
    const state = stateOf(look, work);
    const decision = decidePool(state, pool, look.now);
    const note = decisionNote(state, decision);
    const same = look.last?.course === courseOf(note);
    const unseen = look.members.some(isUnseen);
    const acts = decision.launch > 0 || decision.drain.length > 0;
    const untilExpiry = look.nextExpiry === undefined ? undefined : Math.max(1, look.nextExpiry - look.now);
    return {
      pool,
      state,
      decision,
      due: acts || look.overdue > 0 || unseen || !same,
      note: acts || !same ? note : undefined,
      againMs: earliest(decision.againMs, untilExpiry),
    };
  }

  /** Carries a plan out as far as there is still room. Undefined: the pool is gone. */
  async carryOut(
    { pool, decision, state, note }: PoolPlan,
    tickets: readonly NewTicket[],
  ): Promise<PoolActed | undefined> {
    const { store, staleMs, onDrained } = this.#deps;
    const leaving = state.workers.filter((one) => one.leaving).length;
    const acted = await store.poolAct({
      name: pool.name,
      staleMs,
      tickets,
      // Not the most, but what the work asks for: of two checks at once the second finds that the first has started enough.
      upTo: Math.min(pool.policy.max, decision.want + leaving),
      ttlMs: pool.policy.startMs,
      drain: decision.drain,
      decision: note === undefined ? undefined : { course: courseOf(note), body: JSON.stringify(note) },
    });
    if (acted !== undefined && acted.drained.length > 0) onDrained();
    return acted;
  }

  /** Reserves up to `count` starts for whoever has decided by itself how many; the pool's most is not exceeded. */
  async reserve(name: string, tickets: readonly NewTicket[], most = Number.POSITIVE_INFINITY): Promise<PoolActed> {
    const { store, staleMs } = this.#deps;
    const { policy, enabled } = await this.get(name);
    const acted = await store.poolAct({
      name,
      staleMs,
      tickets,
      upTo: enabled ? Math.min(policy.max, most) : 0,
      ttlMs: policy.startMs,
      drain: [],
      decision: undefined,
    });
    if (acted === undefined) throw unknown(name);
    return acted;
  }

  /** The launcher has started something. */
  async started(id: string, started: string): Promise<void> {
    await this.#deps.store.ticketNote({ id, started: plain(started, MOST_STARTED) });
  }

  /** The launcher has started nothing: the place is free again. */
  async failed(id: string, error: string): Promise<void> {
    await this.#deps.store.ticketNote({ id, error: plain(error, MOST_NOTE) });
  }

  async tickets(
    name: string,
    page: { readonly before?: number; readonly limit: number },
  ): Promise<readonly TicketRecord[]> {
    await this.get(name);
    return this.#deps.store.ticketList({ pool: name, before: page.before ?? NEVER, limit: page.limit });
  }

  async decisions(
    name: string,
    page: { readonly before?: number; readonly limit: number },
  ): Promise<readonly Decision[]> {
    await this.get(name);
    const found = await this.#deps.store.decisionList({ pool: name, before: page.before ?? NEVER, limit: page.limit });
    return found.map(decisionOf);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** The work of all its queues that its workers could do; a queue that nobody has pushed to yet has none. */
  async #work({ queues, worker }: Pool): Promise<QueueScale> {
    const candidate = candidateOf(worker.tags);
    const serves = (lane: Lane): boolean => {
      const placement = lane.rules?.placement ?? ANYWHERE;
      return eligible({ queue: lane.queue, handler: lane.handler, placement }, candidate);
    };
    const scales = await Promise.all(queues.map((queue) => queueScale(this.#deps.store, queue, serves)));
    return scales.reduce<QueueScale>((sum, one) => (one === undefined ? sum : added(sum, one)), NO_WORK);
  }
}

/** The public id and the hash of a ticket, as a store keeps them. */
export function ticketOf(text: string): NewTicket {
  return { id: ticketId(text), hash: createHash('sha256').update(text).digest('hex') };
}

/** A worker as the pool starts it. Which handlers it has is known when it has come. */
function candidateOf(tags: readonly string[]): Candidate {
  return {
    worker: 0,
    name: '',
    state: 'online',
    enabled: true,
    tags,
    handlers: undefined,
    queues: undefined,
    version: undefined,
    priority: 0,
  };
}

function poolOf({ name, body, revision, createdAt, changedAt, changedBy }: PoolRecord): Pool {
  // Read again by the same rules: another version may have written it.
  return { ...checkPool(name, JSON.parse(body) as PoolInput), name, revision, createdAt, changedAt, changedBy };
}

function stateOf(look: PoolLook, work: QueueScale): PoolState {
  return {
    runnable: work.runnable,
    blocked: work.blockedByLimit,
    oldestAgeMs: work.oldestAgeMs,
    starting: look.open,
    workers: look.members.map(({ worker, running, leaving, ticket, idleSince, seenEnded, ended }): PoolWorker => {
      const idle = running === 0 && idleSince !== undefined && seenEnded === ended;
      return {
        worker,
        running,
        leaving,
        ours: ticket !== undefined,
        idleMs: idle ? Math.max(0, look.now - idleSince) : 0,
      };
    }),
    upAt: look.pool.upAt,
    downAt: look.pool.downAt,
    // Nobody has come with those that are overdue.
    failures: look.failures + look.overdue,
    failedAt: look.overdue > 0 ? look.now : look.failedAt,
  };
}

/** What the last check has seen of the worker no longer holds. */
function isUnseen({ ticket, running, idleSince, seenEnded, ended }: PoolLook['members'][number]): boolean {
  if (ticket === undefined) return false;
  return seenEnded !== ended || running > 0 !== (idleSince === undefined);
}

/** The figures that a decision was made from, and what it says. */
export function decisionNote(
  { runnable, blocked, oldestAgeMs, starting, workers }: PoolState,
  decision: PoolDecision,
): DecisionNote {
  const staying = workers.filter(({ leaving }) => !leaving);
  const busy = staying.filter(({ running }) => running > 0).length;
  return {
    want: decision.want,
    there: decision.there,
    launch: decision.launch,
    drain: decision.drain.length,
    reasons: decision.reasons,
    runnable,
    blocked,
    oldestAgeMs: Math.round(oldestAgeMs),
    starting,
    busy,
    idle: staying.length - busy,
    leaving: workers.length - staying.length,
  };
}

/** Figures of the work alone make no other decision. */
function courseOf({ want, reasons }: DecisionNote): string {
  return `${want} ${reasons.join(' ')}`;
}

function decisionOf({ n, at, body, launched, drained }: DecisionRecord): Decision {
  return { ...(JSON.parse(body) as DecisionNote), n, at, launched, drained };
}

function added(a: QueueScale, b: QueueScale): QueueScale {
  return {
    runnable: a.runnable + b.runnable,
    running: a.running + b.running,
    blockedByLimit: a.blockedByLimit + b.blockedByLimit,
    desired: a.desired + b.desired,
    oldestAgeMs: Math.max(a.oldestAgeMs, b.oldestAgeMs),
  };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/** What a launcher says is shown to people: one line, not too long. */
function plain(text: string, most: number): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, most);
}

function unknown(name: string): Error {
  return fault('NOT_FOUND', { kind: 'pool', id: name }, { hint: '"leasehold pools list" shows the pools.' });
}
