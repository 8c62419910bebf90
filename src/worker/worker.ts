import { inspect } from 'node:util';
import { fault } from '../core/errors.ts';
import { type HandlerSchema, MAX_SCHEMAS_BYTES } from '../core/placement/worker.ts';
import { utf8Length } from '../core/task/payload.ts';
import type { World } from '../core/world.ts';
import type { Assignment, Hello, Link, Session } from '../protocol/link.ts';
import { Attempt, type AttemptDeps, type AttemptOutcome } from './attempt.ts';
import { Gate } from './gate.ts';
import type { WorkerLog } from './logs/worker-log.ts';
import { Lookahead } from './lookahead.ts';
import { Renewal } from './renewal/renewal.ts';
import type { RenewalNews } from './renewal/renewal-rounds.ts';
import type { Ladder, Runner } from './runner/runner.ts';

export interface WorkerOptions {
  readonly link: Link;
  readonly world: World;
  readonly name: string;
  readonly incarnation: string;
  /** The first that knows a handler runs it. */
  readonly runners: readonly Runner[];
  /** Runs suspects of handlers that it knows in a process of their own, instead of alone in this one. */
  readonly shield?: Runner;
  /** Handlers that run at once. */
  readonly slots: number;
  readonly tags?: readonly string[];
  readonly priority?: number;
  readonly version?: string;
  readonly queues?: readonly string[];
  /** Claims one task, runs it, and ends. */
  readonly once?: boolean;
  /** Ends when nothing came for this long. */
  readonly idleExitMs?: number;
  /** Tasks claimed beyond the slots at most; default 250, 0 for none. */
  readonly lookahead?: number;
  readonly ladder?: Ladder;
  /** How long a blocked loop keeps the leases of runs that have no timeout; default 10 minutes. */
  readonly maxBlockMs?: number;
  readonly log?: WorkerLog;
  /** Told of every task that it has parted with, but for those that only wait. */
  readonly onSettled?: (assignment: Assignment, parting: Exclude<AttemptOutcome, 'parked'>, ranMs: number) => void;
}

export interface WorkerStats {
  readonly running: number;
  readonly ahead: number;
  readonly settled: Readonly<Record<AttemptOutcome, number>>;
}

export interface StopOptions {
  readonly drain?: boolean;
  readonly drainMs?: number;
  /** Instead of that of the worker. */
  readonly ladder?: Ladder;
}

export const DEFAULT_LADDER: Ladder = { abortMs: 2000, termMs: 2000 };
const DEFAULT_LOOKAHEAD = 250;
const DEFAULT_BLOCK_MS = 600_000;
/** One wait of the link; the claim comes back earlier with work. */
const CLAIM_WAIT_MS = 300_000;
const BEAT_MS = 10_000;
const CANCEL_LOOK_MS = 1000;
/** What was claimed ahead and lies this long goes back, for others to take. */
const STALE_MS = 500;
const FAULT_PAUSE_MS = 500;
const MAX_UNSETTLED = 1000;
/** After tasks on their last try were met, nothing is claimed ahead for this long. */
const CAREFUL_MS = 1000;
/** A suspect that was given back so often is waited for, however long it takes. */
const MAX_DEFERRALS = 10;
/** What one claim asks for: as much as the engine grants in one commit. */
const MAX_CLAIM = 250;

/**
 * Claims tasks over a link, runs them in its slots, and settles them.
 *
 *   claimed ──> ahead ──a slot is free──> running ──> settling ──> gone
 *                 └──too long, suspects, drain──> given back
 *
 * A task whose last worker died under it is a suspect. Where no process of its own shields the others from it, it runs
 * alone: nothing else is started until it has ended, and what was claimed beside it goes back first, so that one bad task
 * costs only its own tries.
 */
export class Worker {
  readonly #options: WorkerOptions;
  /** Known once the runners have started: what is in a handlers file shows when it is loaded. */
  #runnerOf: ReadonlyMap<string, Runner> = new Map();
  readonly #lookahead: Lookahead;
  readonly #running = new Set<Attempt>();
  readonly #settling = new Set<Attempt>();
  readonly #ahead: Attempt[] = [];
  /** Those whose leases could not be renewed in time, because the store did not answer. */
  readonly #suspended = new Set<Attempt>();
  readonly #counts: Record<AttemptOutcome, number> = {
    completed: 0,
    failed: 0,
    retried: 0,
    cancelled: 0,
    released: 0,
    lost: 0,
    parked: 0,
  };
  readonly #change = new Gate();
  readonly #stopClaims = new AbortController();
  readonly #stopOpening = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #deps: (AttemptDeps & { readonly session: Session }) | undefined;
  #starting: Promise<void> | undefined;
  #intaking: Promise<void> | undefined;
  #online: Promise<void> | undefined;
  /** The claim that is under way. */
  #claiming: AbortController | undefined;
  #suspect: Attempt | undefined;
  /** One after a suspect, since all that comes with the next one goes back; twice as much with each claim without any. */
  #mostPerClaim = MAX_CLAIM;
  #carefulUntil = 0;
  #claimed = 0;
  #idleSince = 0;
  #idleMs = 0;
  #stopping: Promise<void> | undefined;
  #dismissal: Error | undefined;
  #endPause = (): void => {};
  readonly #cleanups: (() => void)[] = [];

  constructor(options: WorkerOptions) {
    this.#options = options;
    const max = options.once ? 0 : (options.lookahead ?? DEFAULT_LOOKAHEAD);
    this.#lookahead = new Lookahead(options.slots, max);
  }

  /** Resolves when the worker has stopped, by itself (`once`, `idleExitMs`) or by `stop`. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Why the other side of its link lets it in no more, if that is what has ended it. */
  get dismissal(): Error | undefined {
    return this.#dismissal;
  }

  /** Handlers that it can run; known once it has started. */
  get handlers(): readonly string[] {
    return [...this.#runnerOf.keys()];
  }

  get stats(): WorkerStats {
    return { running: this.#running.size, ahead: this.#ahead.length, settled: { ...this.#counts } };
  }

  /** Once: a worker that was stopped, or could not start, stays as it is. */
  async start(): Promise<void> {
    const problem = this.#starting !== undefined ? 'started' : this.#stopping !== undefined ? 'stopped' : undefined;
    if (problem !== undefined) throw fault('CONFLICT', { problem: `this worker was ${problem} before` });
    this.#starting = this.#start();
    await this.#starting;
    // Whoever looks from here on finds it there. Not awaited by a stop: the store may be away.
    await this.#online;
  }

  async #start(): Promise<void> {
    const { world, slots, ladder = DEFAULT_LADDER } = this.#options;
    const session = await this.#open().catch(async (error: unknown) => {
      await Promise.allSettled(this.#runners.map((runner) => runner.close()));
      this.#ended.resolve();
      throw error;
    });
    const renewal = new Renewal({
      session,
      world,
      capacity: slots + (this.#options.lookahead ?? DEFAULT_LOOKAHEAD) + MAX_UNSETTLED + 1,
      maxBlockMs: this.#options.maxBlockMs ?? DEFAULT_BLOCK_MS,
      onNews: (news) => this.#heard(news),
      onTrouble: (error) => this.#warn('the renewal thread is gone; leases are renewed from the loop', error),
    });
    renewal.start();
    this.#deps = { session, renewal, world, ladder };
    this.#idleSince = world.clock.monotonic();
    this.#cleanups.push(session.onCancel((task) => this.#cancel(task)));
    this.#every(session.heartbeatMs ?? BEAT_MS, () =>
      session.beat(this.#stopping === undefined ? 'online' : 'draining'),
    );
    this.#every(CANCEL_LOOK_MS, () => this.#lookForCancels(session));
    this.#every(STALE_MS / 2, () => this.#giveStaleBack());
    this.#online = session.beat('online').catch(() => {});
    // Nothing that it does counts any more: what runs is ended, and will be run by another.
    void session.over?.then((reason) => {
      this.#dismissal = reason;
      void this.stop({ drain: false });
    });
    this.#intaking = this.#intake(session);
    void this.#intaking.then(() => this.stop());
  }

  /** All that can run something here. */
  get #runners(): readonly Runner[] {
    const { runners, shield } = this.#options;
    return shield === undefined ? runners : [...runners, shield];
  }

  async #open(): Promise<Session> {
    const { link, name, incarnation, slots, tags = [], queues, priority, version, runners } = this.#options;
    const starts = await Promise.allSettled(this.#runners.map((runner) => runner.start()));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    this.#runnerOf = new Map(runners.toReversed().flatMap((r) => r.handlers.map((handler) => [handler, r] as const)));
    const handlers = [...this.#runnerOf.keys()];
    const hello: Hello = {
      name,
      incarnation,
      slots,
      tags,
      handlers,
      schemas: this.#schemas(),
      queues,
      priority,
      version,
    };
    return link.open(hello, this.#stopOpening.signal);
  }

  /** What its handlers take, as far as they can say it, and as much as one worker may tell of. */
  #schemas(): readonly HandlerSchema[] {
    let left = MAX_SCHEMAS_BYTES;
    return [...this.#runnerOf].flatMap(([handler, runner]) => {
      const schema = runner.schemaOf?.(handler);
      left -= schema === undefined ? 0 : utf8Length(schema);
      return schema === undefined || left < 0 ? [] : [{ handler, schema }];
    });
  }

  /**
   * With `drain` (default): claims nothing more, lets what runs come to its end for `drainMs`, then stops it. Without: stops
   * it at once, down this ladder. What did not end goes back with its try. A later call can only make it shorter.
   */
  stop(options: StopOptions = {}): Promise<void> {
    const { drain = true, drainMs, ladder } = options;
    this.#stopping ??= this.#stop();
    if (!drain) this.#force(ladder);
    else if (drainMs !== undefined) this.#forceAfter(drainMs, ladder);
    return this.#stopping;
  }

  // Claiming

  async #intake(session: Session): Promise<void> {
    const { signal } = this.#stopClaims;
    while (!signal.aborted) {
      const max = this.#room();
      if (max <= 0) await this.#change.next();
      else await this.#claim(session, Math.min(max, this.#mostPerClaim));
      if (this.#options.once && this.#claimed > 0) break;
    }
  }

  async #claim(session: Session, max: number): Promise<void> {
    const { clock } = this.#options.world;
    const { signal } = (this.#claiming = new AbortController());
    const asked = clock.monotonic();
    const askedAt = clock.wall();
    const waitMs = this.#claimWaitMs;
    try {
      const batch = await session.claim({ max, waitMs, signal });
      this.#claiming = undefined;
      this.#countIdle(batch.length, waitMs, asked);
      // Only when there was work before it was asked for: otherwise it is the wait for work that would be measured.
      if (batch.some(({ createdAt }) => createdAt < askedAt)) this.#lookahead.claimed(clock.monotonic() - asked);
      this.#accept(batch);
    } catch (error) {
      this.#claiming = undefined;
      if (signal.aborted) return;
      this.#warn('tasks cannot be claimed', error);
      await this.#pause(FAULT_PAUSE_MS);
    } finally {
      this.#change.open();
    }
  }

  /** How many more tasks may be held. */
  #room(): number {
    if (this.#suspect !== undefined) return 0;
    if (this.#options.once) return 1;
    if (this.#settling.size >= MAX_UNSETTLED) return 0;
    const { slots } = this.#options;
    const free = slots - this.#running.size;
    const careful = this.#options.world.clock.monotonic() < this.#carefulUntil;
    const ahead = careful ? 0 : this.#lookahead.size;
    const room = free + ahead - this.#ahead.length;
    // Claimed ahead in portions: a claim for each task that ends would cost more than it.
    return free > this.#ahead.length || room > ahead / 2 ? room : 0;
  }

  /** No longer than until it would have been idle for too long. */
  get #claimWaitMs(): number {
    const { idleExitMs = Number.POSITIVE_INFINITY } = this.#options;
    return Math.max(0, Math.min(CLAIM_WAIT_MS, idleExitMs - this.#idleMs));
  }

  /**
   * Ends the worker when nothing came for so long. What counts is the time that a claim was answered to have waited in vain: not that
   * in which nobody could be asked, or in which the answer was on its way.
   */
  #countIdle(came: number, waitMs: number, asked: number): void {
    const now = this.#options.world.clock.monotonic();
    if (came > 0 || this.#holds) this.#idleMs = 0;
    else this.#idleMs = Math.min(this.#idleMs + Math.min(waitMs, now - asked), now - this.#idleSince);
    if (!this.#holds && came === 0 && this.#idleMs >= (this.#options.idleExitMs ?? Number.POSITIVE_INFINITY)) {
      void this.stop();
    }
  }

  get #holds(): boolean {
    return this.#running.size + this.#settling.size + this.#ahead.length > 0 || this.#suspect !== undefined;
  }

  #accept(batch: readonly Assignment[]): void {
    const deps = this.#deps as AttemptDeps;
    this.#claimed += batch.length;
    const attempts = batch.map((assignment) => new Attempt(deps, assignment));
    const suspects = attempts.some((one) => one.assignment.suspect && this.#sharesFate(one));
    this.#mostPerClaim = suspects ? 1 : Math.min(MAX_CLAIM, 2 * this.#mostPerClaim);
    this.#ahead.push(...attempts);
    // It was under way when nothing more was wanted.
    if (this.#stopClaims.signal.aborted || this.#suspect !== undefined) {
      void this.#giveAllBack();
      return;
    }
    this.#fill();
    this.#spareLastTries();
  }

  /** Should this process die, a task on its last try would have failed without having been run: such are not held ahead. */
  #spareLastTries(): void {
    const last = this.#ahead.filter(({ assignment }) => assignment.tries >= assignment.maxTries);
    if (last.length === 0 || this.#options.once) return;
    for (const one of last) this.#ahead.splice(this.#ahead.indexOf(one), 1);
    this.#carefulUntil = this.#options.world.clock.monotonic() + CAREFUL_MS;
    void this.#giveBack(last);
  }

  // Running

  #fill(): void {
    while (this.#suspect === undefined && this.#running.size < this.#options.slots) {
      const next = this.#ahead.shift();
      if (next === undefined) return;
      if (next.assignment.suspect && this.#sharesFate(next)) this.#quarantine(next);
      else void this.#run(next);
    }
  }

  /** It runs inside this process, so that it can take everything else here with it. */
  #sharesFate({ assignment }: Attempt): boolean {
    return !(this.#runnerFor(assignment)?.isolates ?? false);
  }

  #runnerFor({ handler, suspect }: Assignment): Runner | undefined {
    const { shield } = this.#options;
    return suspect && shield?.handlers.includes(handler) ? shield : this.#runnerOf.get(handler);
  }

  #quarantine(suspect: Attempt): void {
    this.#suspect = suspect;
    // Before it starts: who is still held when it kills this process loses a try too. A claim that waits would take what
    // is given back.
    this.#claiming?.abort();
    void this.#giveAllBack();
    void (async () => {
      const { expired, cancel } = this.#patienceWith(suspect.assignment);
      while (this.#running.size + this.#settling.size > 0 || this.#claiming !== undefined) {
        if (expired() && this.#running.size > 0) break;
        await this.#change.next();
      }
      cancel();
      const unwanted = suspect.stopped !== undefined || (this.#stopClaims.signal.aborted && !this.#options.once);
      // Long neighbours: another worker may be free, and this one has other work to do meanwhile.
      const deferred = !unwanted && this.#running.size > 0;
      if (unwanted || deferred) await this.#giveBack([suspect], deferred ? this.#deferralMs() : 0);
      else await this.#run(suspect);
      this.#suspect = undefined;
      this.#freed();
    })();
  }

  /** How long a suspect may keep this worker from its other work, until the neighbours are gone. */
  #patienceWith({ attempt, tries }: Assignment): { readonly expired: () => boolean; readonly cancel: () => void } {
    // Given back often enough: it must come to its turn, or it would never run on a worker that is never empty.
    if (attempt - tries >= MAX_DEFERRALS) return { expired: () => false, cancel: () => {} };
    let over = false;
    const cancel = this.#options.world.timers.after(this.#deferralMs(), () => {
      over = true;
      this.#change.open();
    });
    return { expired: () => over, cancel };
  }

  #deferralMs(): number {
    return Math.ceil(Math.min(5000, (this.#deps?.session.leaseMs ?? 1000) / 6));
  }

  async #run(attempt: Attempt): Promise<void> {
    const { assignment } = attempt;
    const { clock } = this.#options.world;
    const runner = this.#runnerFor(assignment);
    this.#running.add(attempt);
    const started = clock.monotonic();
    const ended =
      runner === undefined
        ? ({ kind: 'unstarted', error: fault('HANDLER_NOT_FOUND', { handler: assignment.handler }) } as const)
        : await attempt.run(runner, assignment.suspect);
    const ranMs = clock.monotonic() - started;
    this.#lookahead.ran(ranMs);
    this.#running.delete(attempt);
    this.#settling.add(attempt);
    // The settle leaves in the same turn as the next claim, so that they can share a commit.
    const settled = attempt.settle(ended);
    if (this.#suspect === undefined) this.#freed();
    const outcome = await settled.catch((error: unknown): AttemptOutcome => {
      // Its lease runs out, and the reaper decides.
      this.#warn(`the end of ${assignment.id} cannot be recorded`, error);
      return 'lost';
    });
    this.#parted(attempt, outcome, ranMs);
    if (this.#settling.size === 0 || this.#suspect !== undefined) this.#freed();
  }

  #parted(attempt: Attempt, outcome: AttemptOutcome, ranMs: number): void {
    this.#counts[outcome]++;
    this.#settling.delete(attempt);
    this.#suspended.delete(attempt);
    if (outcome === 'parked') return;
    try {
      this.#options.onSettled?.(attempt.assignment, outcome, ranMs);
    } catch (error) {
      this.#warn('who wanted to hear of settled tasks failed', error);
    }
  }

  #freed(): void {
    if (this.#running.size === 0) this.#idleSince = this.#options.world.clock.monotonic();
    this.#fill();
    this.#change.open();
  }

  // Giving back

  #giveStaleBack(): void {
    const oldest = this.#ahead[0];
    if (oldest === undefined || this.#options.world.clock.monotonic() - oldest.claimedAt < STALE_MS) return;
    this.#lookahead.tooMuch();
    // A claim that still waits, for as many as seemed right before, would take them again.
    this.#claiming?.abort();
    void this.#giveAllBack();
  }

  #giveAllBack(): Promise<void> {
    return this.#giveBack(this.#ahead.splice(0));
  }

  async #giveBack(attempts: readonly Attempt[], delayMs = 0): Promise<void> {
    for (const attempt of attempts) this.#settling.add(attempt);
    await Promise.all(
      attempts.map(async (attempt) => {
        try {
          this.#counts[await attempt.release(delayMs)]++;
        } catch (error) {
          this.#counts.lost++;
          this.#warn(`${attempt.assignment.id} cannot be given back`, error);
        } finally {
          this.#settling.delete(attempt);
          this.#suspended.delete(attempt);
        }
      }),
    );
    this.#change.open();
  }

  // Hearing

  #heard({ task, attempt, news }: RenewalNews): void {
    const one = this.#find(task, attempt);
    if (one === undefined) return;
    if (news === 'cancel') {
      this.#cancel(task);
      return;
    }
    const { id } = one.assignment;
    // While its end is being recorded, or it parks, the store's own answer to that counts: it may be what ended the lease.
    if (news === 'lost' && (this.#settling.has(one) || one.parking)) return;
    if (news === 'blocked') this.#warn(`the loop was blocked past the run timeout of ${id}: its lease is lost`);
    else this.#warn(`the lease of ${id} is lost${news === 'lost' ? '' : ': it could not be renewed in time'}`);
    if (news === 'away' && this.#stopping === undefined) {
      this.#suspend(one);
      return;
    }
    one.stop('lost', this.#steep());
    this.#dropLost(one);
  }

  /** Its work stops, as if it were lost. But the store is only away: once it is back it says whose the task is. */
  #suspend(one: Attempt): void {
    this.#suspended.add(one);
    if (this.#take(one)) void this.#giveBack([one]);
    else one.stop('away', this.#steep());
  }

  #cancel(task: number): void {
    const one = this.#find(task);
    if (one === undefined || one.stopped !== undefined) return;
    // What was not started need not be: given back, it ends as cancelled.
    if (this.#take(one)) void this.#giveBack([one]);
    else if (one.started || one === this.#suspect) one.stop('cancelled');
  }

  async #lookForCancels(session: Session): Promise<void> {
    if (!this.#holds) return;
    for (const { task, attempt } of await session.cancels()) if (this.#find(task, attempt)) this.#cancel(task);
  }

  /** Out of those that wait for a slot; false when it is not among them. */
  #take(one: Attempt): boolean {
    const at = this.#ahead.indexOf(one);
    if (at === -1) return false;
    this.#ahead.splice(at, 1);
    return true;
  }

  /** One that waits for its slot and is lost will not be started. */
  #dropLost(one: Attempt): void {
    if (!this.#take(one)) return;
    void one.settle({ kind: 'unstarted', error: undefined });
    this.#counts.lost++;
    this.#change.open();
  }

  #find(task: number, attempt?: number): Attempt | undefined {
    // One that has parked may still run when its task is here again.
    const is = (one: Attempt): boolean =>
      one.assignment.task === task && !one.left && (attempt === undefined || one.assignment.attempt === attempt);
    for (const one of this.#running) if (is(one)) return one;
    for (const one of this.#settling) if (is(one)) return one;
    if (this.#suspect !== undefined && is(this.#suspect)) return this.#suspect;
    return this.#ahead.find(is);
  }

  /** A lost lease leaves no time: the whole ladder must be over before the task runs again elsewhere. */
  #steep(): Ladder {
    const { abortMs, termMs } = this.#options.ladder ?? DEFAULT_LADDER;
    const part = (this.#deps?.session.leaseMs ?? 1000) / 12;
    return { abortMs: Math.min(abortMs, part), termMs: Math.min(termMs, part) };
  }

  // Stopping

  async #stop(): Promise<void> {
    this.#stopClaims.abort();
    this.#claiming?.abort();
    this.#endPause();
    this.#stopOpening.abort(fault('STORE_CLOSED'));
    // Their store may never come back.
    for (const one of this.#suspended) one.stop('lost');
    await this.#starting?.catch(() => {});
    const deps = this.#deps;
    if (deps === undefined) {
      this.#ended.resolve();
      return;
    }
    await Promise.all([this.#giveAllBack(), deps.session.beat('draining').catch(() => {})]);
    // What a claim under way is granted is given back before anything is closed.
    await this.#intaking;
    while (this.#holds) await this.#change.next();
    for (const cleanup of this.#cleanups) cleanup();
    const closing = (error: unknown): void => this.#warn('the worker cannot end cleanly', error);
    await Promise.all(this.#runners.map((runner) => runner.close().catch(closing)));
    await deps.renewal.close().catch(closing);
    await deps.session.beat('offline').catch(() => {});
    await deps.session.close().catch(closing);
    this.#ended.resolve();
  }

  #forceAfter(ms: number, ladder: Ladder | undefined): void {
    const force = (): void => this.#force(ladder);
    this.#cleanups.push(this.#options.world.timers.after(Math.min(ms, 2 ** 31 - 1), force, { unref: true }));
  }

  #force(ladder: Ladder | undefined): void {
    void this.#giveAllBack();
    for (const attempt of this.#running) attempt.stop('shutdown', ladder);
    if (this.#suspect?.started === false) this.#suspect.stop('shutdown');
    this.#change.open();
  }

  #every(ms: number, look: () => void | Promise<void>): void {
    const { timers } = this.#options.world;
    let cancel = (): void => {};
    const next = (): void => {
      cancel = timers.after(
        ms,
        () => {
          next();
          void Promise.resolve(look()).catch(() => {});
        },
        { unref: true },
      );
    };
    next();
    this.#cleanups.push(() => cancel());
  }

  /** Shorter when the worker stops. */
  #pause(ms: number): Promise<void> {
    const { timers, random } = this.#options.world;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = timers.after(ms * (0.5 + random()), resolve);
    this.#endPause = () => {
      cancel();
      resolve();
    };
    return promise;
  }

  #warn(message: string, error?: unknown): void {
    const text = error instanceof Error ? error.message : error === undefined ? undefined : inspect(error);
    this.#options.log?.warn(message, text === undefined ? undefined : { error: text });
  }
}
