import { fault, isEngineError } from '../core/errors.ts';
import type { TaskState } from '../core/task/task.ts';
import type { RunTrace } from '../core/task/trace.ts';
import type { World } from '../core/world.ts';
import type { Assignment, Failing, Session } from '../protocol/link.ts';
import { openSigned } from '../protocol/signed-task.ts';
import { type ArtifactStock, AttemptArtifacts } from './artifacts/attempt-artifacts.ts';
import { largeOutcome } from './artifacts/large-result.ts';
import { AttemptCredentials, type CredentialStock } from './credentials/attempt-credentials.ts';
import { LeaseSession, type Yielded } from './lease-session.ts';
import { LazyLog, type LazyLogDeps } from './logs/lazy-log.ts';
import { Redactor } from './redaction/redactor.ts';
import type { Renewal } from './renewal/renewal.ts';
import { retryPause } from './retry-pause.ts';
import { ReuseLookupRun } from './runner/reuse-lookup-run.ts';
import type {
  ActiveRun,
  Ladder,
  RunHost,
  Runner,
  RunOutcome,
  RunRequest,
  StoppableRun,
  StopReason,
} from './runner/runner.ts';
import { AttemptWorkspace, workspaceEnd } from './workspace/attempt-workspace.ts';
import type { WorkspaceStock } from './workspace/workspace-stock.ts';

export interface AttemptDeps {
  readonly session: Session;
  readonly renewal: Renewal;
  readonly world: World;
  readonly ladder: Ladder;
  readonly warn?: LazyLogDeps['warn'];
  /** Undefined: this worker keeps none. */
  readonly credentials?: CredentialStock | undefined;
  /** Where its temporary files are. */
  readonly artifacts: ArtifactStock;
  /** Undefined: this worker makes no workspaces. */
  readonly workspaces?: WorkspaceStock | undefined;
}

/** Hears how a run ended that was begun without a promise. */
export interface AttemptListener {
  ended(attempt: Attempt, outcome: RunOutcome): void;
}

/** What became of an assignment in this worker. */
export type AttemptOutcome = 'completed' | 'failed' | 'retried' | 'cancelled' | 'released' | 'lost' | 'parked';

/** `away`: the store did not answer in time to keep the lease. It is not known whether another worker has the task. */
type Why = Exclude<StopReason, 'parked'> | 'away';

const BOUNCE_MS = 100;
/** A handler whose attempt has parked ends by itself, and has at least this long for it. */
const UNWIND_MS = 1000;

/**
 * One assignment of a worker: held from the claim on, perhaps run, then settled or given back. Its lease is renewed the
 * whole time, also while it waits for a slot and while its end is being recorded.
 */
export class Attempt implements RunHost {
  readonly assignment: Assignment;
  readonly claimedAt: number;
  readonly #deps: AttemptDeps;
  readonly #place: number;
  /** Those that the task names, of a worker that keeps some. */
  readonly credentials: AttemptCredentials | undefined;
  readonly #redactor: Redactor | undefined;
  /** Made at the first use: most runs store nothing. */
  #artifacts: AttemptArtifacts | undefined;
  /** Of a result that is too large for its row. */
  #storing: AttemptArtifacts | undefined;
  #workspace: AttemptWorkspace | undefined;
  /** What its workspace leaves, also after the handler has ended. */
  #handedOn: AttemptArtifacts | undefined;
  #log: LazyLog | undefined;
  #running: StoppableRun | undefined;
  #listener: AttemptListener | undefined;
  #ended = false;
  #startedAt = 0;
  /** How long the handler ran, once it has ended. */
  ranMs = 0;
  #stopped: Why | undefined;
  #timeoutMs: number | undefined;
  #cancelTimer: (() => void) | undefined;
  #letGo = false;
  #session: LeaseSession | undefined;
  #trace: RunTrace | undefined;
  /** Its result is to be kept for reuse; false when the result itself was reused. */
  #keeps = false;
  /** A turn of it gave the lease back, or ended the task. */
  #yielded: Yielded | undefined;

  constructor(deps: AttemptDeps, assignment: Assignment) {
    this.#deps = deps;
    this.assignment = assignment;
    this.claimedAt = deps.world.clock.monotonic();
    this.#place = deps.renewal.hold(assignment);
    if (assignment.credentials === undefined || deps.credentials === undefined) return;
    this.#redactor = new Redactor();
    this.credentials = new AttemptCredentials(assignment.credentials, deps.credentials, this.#redactor);
  }

  get started(): boolean {
    return this.#running !== undefined;
  }

  get stopped(): Why | undefined {
    return this.#stopped;
  }

  /** The attempt has no lease and nothing to record any more, though its handler may still run. */
  get yielded(): boolean {
    return this.#yielded !== undefined;
  }

  get parking(): boolean {
    return this.#session?.parking ?? false;
  }

  /** The durable calls of the handler. */
  get session(): LeaseSession {
    this.#session ??= new LeaseSession(this.#deps.session, this.#deps.world, this.assignment, {
      isLive: () => this.#stopped !== 'lost' && this.#yielded === undefined && !this.#ended,
      mayPark: () => this.#stopped !== 'timeout',
      flush: async () => {
        if (this.#log?.used) await this.#log.flush();
      },
      hides: this.#redactor,
      onYielded: (how) => this.#yield(how),
      onLost: () => this.stop('lost'),
    });
    return this.#session;
  }

  /** The files of its task. */
  get artifacts(): AttemptArtifacts {
    if (this.#artifacts === undefined) {
      this.#artifacts = this.#makeArtifacts();
      // A handler that goes on after its end stores nothing more.
      if (this.#ended || this.#yielded !== undefined) this.#artifacts.drop();
    }
    return this.#artifacts;
  }

  /** The folder that its task works in. */
  get workspaces(): AttemptWorkspace | undefined {
    const { workspaces: stock, world } = this.#deps;
    if (stock !== undefined && this.#workspace === undefined) {
      const { id: task, attempt } = this.assignment;
      this.#workspace = new AttemptWorkspace({
        stock,
        task,
        attempt,
        clock: world.clock,
        artifacts: () => {
          this.#handedOn ??= this.#makeArtifacts();
          if (this.#letGo) this.#handedOn.drop();
          return this.#handedOn;
        },
        credentials: this.credentials,
        log: (line) => this.#log?.line('system', line),
      });
      if (this.#stopped !== undefined || this.#ended || this.#yielded !== undefined) this.#workspace.stop();
    }
    return this.#workspace;
  }

  #makeArtifacts(): AttemptArtifacts {
    const { session, artifacts: stock } = this.#deps;
    const { assignment: lease } = this;
    return new AttemptArtifacts({ link: session.artifacts, lease, stock, onLost: () => this.stop('lost') });
  }

  /**
   * As `run`, with a call of the listener instead of a promise. False: this attempt needs more than that, because it is traced,
   * looks for a kept result first, or its runner has promises only.
   */
  begin(runner: Runner, listener: AttemptListener): boolean {
    const { assignment } = this;
    if (runner.begin === undefined || assignment.reuses === true || this.#deps.world.tracing !== undefined)
      return false;
    const log = this.#prepare(runner);
    this.#listener = listener;
    this.#running = runner.begin(runRequestOf(assignment, assignment.suspect, undefined), log, this);
    return true;
  }

  ended(outcome: RunOutcome): void {
    this.#over();
    this.#listener?.ended(this, this.#told(outcome));
  }

  #over(): void {
    this.#ended = true;
    this.ranMs = this.#deps.world.clock.monotonic() - this.#startedAt;
    this.#cancelTimer?.();
  }

  /** Before its end is told: whoever hears of it finds none. Artifacts lose their temporary files, not what is stored. */
  async #remove(of: { close(): Promise<void> }): Promise<void> {
    await of.close().catch((error: unknown) => this.#deps.warn?.('temporary files could not be removed', error));
  }

  /** Without the secrets that the run has read. */
  #told(outcome: RunOutcome): RunOutcome {
    const hides = this.#redactor;
    if (hides === undefined || hides.idle) return outcome;
    if (outcome.kind === 'parked') return outcome;
    if (outcome.kind === 'done') return { ...outcome, result: hides.hideIn(outcome.result) };
    if (outcome.kind === 'retryAfter') return { ...outcome, reason: hides.hideInError(outcome.reason) };
    return { ...outcome, error: hides.hideInError(outcome.error) };
  }

  /** The log of the run, and its bound. */
  #prepare(runner: Runner): LazyLog {
    const { assignment } = this;
    const log = new LazyLog(this.#deps, assignment, this.#redactor);
    this.#log = log;
    this.#startedAt = this.#deps.world.clock.monotonic();
    // Before the start, because an inline handler may block the loop from its first line on.
    this.#timeoutMs = assignment.timeoutMs ?? runner.timeoutMs?.(assignment.handler) ?? this.#deps.session.runTimeoutMs;
    if (this.#timeoutMs !== undefined) this.#bound(this.#timeoutMs);
    return log;
  }

  /** Runs the handler. Resolves when nothing of it runs any more; `settle` comes next. */
  async run(runner: Runner, alone: boolean): Promise<RunOutcome> {
    const { assignment } = this;
    const log = this.#prepare(runner);
    let ended: RunOutcome;
    try {
      const trace = this.#deps.world.tracing?.running(assignment);
      this.#trace = trace;
      const request = runRequestOf(assignment, alone, trace?.traceparent);
      const begin = (): ActiveRun => runner.run(request, log, this);
      const start = trace === undefined ? begin : () => trace.within(begin);
      const running = assignment.reuses === true ? this.#reusing(start, log) : start();
      this.#running = running;
      ended = await running.ended;
    } catch (error) {
      ended = { kind: 'unstarted', error };
    }
    ended = this.#told(ended);
    this.#over();
    if (this.#keeps && ended.kind === 'done') await this.#keep(ended.result);
    return ended;
  }

  #reusing(start: () => ActiveRun, log: LazyLog): ActiveRun {
    const begin = (): ActiveRun => {
      this.#keeps = true;
      return start();
    };
    return new ReuseLookupRun({ find: () => this.session.reusable(), start: begin, sink: log });
  }

  /** Called while the attempt still has its slot, so that the next task in that slot finds the result. A result that cannot be kept fails in `settle`. */
  async #keep(result: unknown): Promise<void> {
    if (this.#stopped !== undefined && this.#stopped !== 'shutdown' && this.#stopped !== 'away') return;
    const keep = async (): Promise<AttemptOutcome> => {
      await this.#deps.session.keep(this.assignment, result);
      return 'completed';
    };
    const kept = await this.#patiently(keep).catch(() => undefined);
    if (kept === 'completed') this.#keeps = false;
    else if (kept === 'lost') this.stop('lost');
  }

  /**
   * Tells the handler to stop. The first reason counts, except that a lost lease overrides all. A run that has ended
   * meanwhile is recorded as it ended.
   */
  stop(why: Why, ladder: Ladder = this.#deps.ladder): void {
    if (this.#yielded !== undefined) return;
    if (why === 'lost' || (this.#stopped === undefined && !this.#ended)) this.#stopped = why;
    if (why === 'lost' || why === 'away') {
      this.#session?.drop();
      this.#artifacts?.drop();
      this.#storing?.drop();
      this.#handedOn?.drop();
    }
    this.#workspace?.stop();
    if (why === 'lost') this.#log?.abandon();
    if (!this.#ended) this.#running?.stop(why === 'away' ? 'lost' : why, ladder);
  }

  /**
   * Records how the run ended. Faults of the store are waited out while the lease may still be ours: as long as the store is
   * away, it grants the task to nobody else, and the reaper gives returning workers the time of one lease. `refusal`: completing
   * it together with others was refused with this.
   */
  async settle(ended: RunOutcome, refusal?: Error): Promise<AttemptOutcome> {
    try {
      // First: an archive becomes an artifact of the attempt.
      if (this.#workspace !== undefined)
        await this.#workspace.close(workspaceEnd(ended.kind, this.#stopped, this.#yielded));
      if (this.credentials !== undefined) await this.#remove(this.credentials);
      if (this.#artifacts !== undefined) await this.#remove(this.#artifacts);
      if (this.#handedOn !== undefined) await this.#remove(this.#handedOn);
      if (this.#yielded !== undefined) return this.#yielded;
      if (this.#stopped === 'lost') return 'lost';
      if (this.#log?.used) await this.#log.flush();
      if (refusal !== undefined) {
        return await this.#patiently(
          () => this.#record(ended),
          () => this.#unkept(refusal, ended),
        );
      }
      // Most runs end well: the short way saves them three promises.
      if (ended.kind === 'done' && this.#stopped === undefined) return await this.#done(ended);
      return await this.#patiently(() => this.#record(ended));
    } finally {
      this.#trace?.end(this.#stopped ?? ended.kind, 'error' in ended ? ended.error : undefined);
      this.#drop();
    }
  }

  /** A plain end: all that is left is to complete the task, which can be done together with others. */
  isPlain(outcome: RunOutcome): outcome is RunOutcome & { readonly kind: 'done' } {
    if (outcome.kind !== 'done' || this.#keeps || this.#trace !== undefined) return false;
    if (this.credentials !== undefined || this.#artifacts !== undefined || this.#workspace !== undefined) return false;
    return this.#stopped === undefined && this.#yielded === undefined && !this.#log?.used;
  }

  /** The task was completed together with others. */
  completed(): void {
    this.#drop();
  }

  /** Gives the task back unstarted. */
  async release(delayMs = 0): Promise<AttemptOutcome> {
    try {
      return await this.#patiently(() => this.#released(delayMs === 0 ? undefined : { delayMs }));
    } finally {
      this.#drop();
    }
  }

  async #done(ended: RunOutcome & { readonly kind: 'done' }): Promise<AttemptOutcome> {
    try {
      if (this.#keeps) await this.#deps.session.keep(this.assignment, ended.result);
      await this.#deps.session.complete(this.assignment, ended.result);
      return 'completed';
    } catch (error) {
      return this.#patiently(
        () => this.#record(ended),
        () => this.#unkept(error, ended),
      );
    }
  }

  async #record(ended: RunOutcome): Promise<AttemptOutcome> {
    const { session } = this.#deps;
    const { assignment } = this;
    switch (this.#stopped) {
      case 'cancelled':
        // The result that it returned after the stop may be half of one.
        await session.cancelled(assignment);
        return 'cancelled';
      case 'timeout':
        // As its JSON form: our own stack helps nobody, and an error loses its code.
        return this.#failed(fault('RUN_TIMEOUT', { timeoutMs: this.#timeoutMs }).toJSON());
      case 'shutdown':
      case 'away':
        if (ended.kind === 'failed' || ended.kind === 'unstarted') return this.#released();
        break;
      case 'lost':
        return 'lost';
      case undefined:
        break;
    }
    switch (ended.kind) {
      case 'done':
        return this.#complete(ended.result);
      case 'failed':
        return this.#failed(ended.error);
      case 'giveUp':
        await session.fail(assignment, ended.error, { giveUp: true });
        return 'failed';
      case 'retryAfter':
        return became('retried', await session.fail(assignment, ended.reason ?? null, laterOf(ended)));
      case 'parked':
        // It never asked to park, so only the reaper can settle it.
        throw fault('INTERNAL', { problem: 'a run ended as parked and has not parked' });
      case 'unstarted':
        return this.#released({ bounced: true, delayMs: BOUNCE_MS });
    }
  }

  async #released(options?: { readonly bounced?: boolean; readonly delayMs: number }): Promise<AttemptOutcome> {
    return became('released', await this.#deps.session.release(this.assignment, options));
  }

  async #complete(result: unknown): Promise<AttemptOutcome> {
    try {
      // Kept before the end is recorded: should the process die in between, the next attempt finds it.
      if (this.#keeps) await this.#deps.session.keep(this.assignment, result);
      await this.#deps.session.complete(this.assignment, result);
      return 'completed';
    } catch (error) {
      return this.#unkept(error, { kind: 'done', result });
    }
  }

  /**
   * A result that cannot be stored is the handler's fault, and the next try would give the same. One that is too large becomes an artifact, where there
   * is a place for them.
   */
  async #unkept(refusal: unknown, ended: RunOutcome): Promise<AttemptOutcome> {
    if (!isEngineError(refusal, 'INVALID_INPUT') && !isEngineError(refusal, 'TOO_LARGE')) throw refusal;
    const { session } = this.#deps;
    const stored =
      ended.kind === 'done'
        ? await this.#storeLarge(ended.result, refusal)
        : ({ kind: 'giveUp', error: refusal } as const);
    if (isEngineError('error' in stored ? stored.error : undefined, 'LEASE_LOST')) return 'lost';
    return this.#patiently(async () => {
      if (stored.kind === 'done') {
        await session.complete(this.assignment, stored.result);
        return 'completed';
      }
      const error = isEngineError(stored.error) ? stored.error.toJSON() : stored.error;
      if (stored.kind === 'failed') return this.#failed(error);
      await session.fail(this.assignment, error, { giveUp: true });
      return 'failed';
    });
  }

  async #storeLarge(result: unknown, refusal: unknown): ReturnType<typeof largeOutcome> {
    if (this.#deps.session.artifacts === undefined) return { kind: 'giveUp', error: refusal };
    const artifacts = this.#makeArtifacts();
    this.#storing = artifacts;
    try {
      return await largeOutcome(result, refusal, artifacts);
    } finally {
      await this.#remove(artifacts);
    }
  }

  async #failed(error: unknown): Promise<AttemptOutcome> {
    return became('retried', await this.#deps.session.fail(this.assignment, error));
  }

  async #patiently(record: () => Promise<AttemptOutcome>, first = record): Promise<AttemptOutcome> {
    for (let tries = 0, next = first; ; tries++, next = record) {
      try {
        return await next();
      } catch (error) {
        if (isEngineError(error, 'LEASE_LOST')) return 'lost';
        if (!isEngineError(error) || !error.retryable) throw error;
        if (this.#stopped === 'lost') return 'lost';
      }
      await retryPause(this.#deps.world, tries);
      // Read again: the renewal may have reported the loss meanwhile.
      if ((this.#stopped as Why | undefined) === 'lost') return 'lost';
    }
  }

  /** The attempt has no lease any more. Its handler is told to stop; nothing that it still does counts. */
  #yield(how: Yielded): void {
    this.#yielded = how;
    this.#cancelTimer?.();
    this.#drop();
    this.#log?.close();
    const { abortMs, termMs } = this.#deps.ladder;
    this.#running?.stop(how === 'cancelled' ? how : 'parked', { abortMs: Math.max(abortMs, UNWIND_MS), termMs });
  }

  #bound(timeoutMs: number): void {
    this.#deps.renewal.bound(this.#place, this.assignment, timeoutMs);
    this.#cancelTimer = this.#deps.world.timers.after(timeoutMs, () => this.stop('timeout'));
  }

  #drop(): void {
    if (this.#letGo) return;
    this.#letGo = true;
    this.#deps.renewal.drop(this.#place);
  }
}

function laterOf({ delayMs, limit }: RunOutcome & { readonly kind: 'retryAfter' }): Failing {
  return limit === undefined ? { retryAfterMs: delayMs } : { retryAfterMs: delayMs, limit };
}

function runRequestOf(a: Assignment, alone: boolean, traceparent: string | undefined): RunRequest {
  const { task, attempt, id, queue, handler, tries, maxTries } = a;
  const signed = openSigned(a.payload);
  const payload = signed?.payload ?? a.payload;
  const plain = { task, attempt, id, queue, handler, payload, tries, maxTries, alone };
  const request = signed === undefined ? plain : { ...plain, signed };
  const more = a.credentials === undefined ? request : { ...request, credentials: a.credentials };
  return traceparent === undefined ? more : { ...more, traceparent };
}

/** The store may decide otherwise than asked: no tries were left, or a cancel was requested. */
function became(asked: AttemptOutcome, state: TaskState): AttemptOutcome {
  return state === 'failed' || state === 'cancelled' ? state : asked;
}
