import { isEngineError } from '../../core/errors.ts';
import { pause } from '../../core/pause.ts';
import type { Assignment } from '../../protocol/link.ts';
import { Attempt, type AttemptDeps } from '../attempt.ts';
import { MAX_UNSETTLED, type Warn, type WorkerOptions } from '../worker-options.ts';
import type { ClaimControl } from './claim-control.ts';
import type { HandlerRunners } from './handler-runners.ts';
import type { HeldAttempts } from './held-attempts.ts';
import type { Lookahead } from './lookahead.ts';
import type { Slots } from './slots.ts';

export interface IntakeDeps {
  readonly options: Pick<WorkerOptions, 'slots' | 'world' | 'once' | 'idleExitMs'>;
  readonly held: HeldAttempts;
  readonly slots: Slots;
  readonly runners: HandlerRunners;
  readonly claims: ClaimControl;
  readonly lookahead: Lookahead;
  /** Nothing came for `idleExitMs`. */
  readonly onIdle: () => void;
  readonly warn: Warn;
}

/** The longest wait of one claim; it returns earlier with work. */
const CLAIM_WAIT_MS = 300_000;
/** The most that one claim asks for: as much as the engine grants in one commit. */
const MAX_CLAIM = 250;
const FAULT_PAUSE_MS = 500;
/** After a task on its last try was claimed, nothing is claimed ahead for this long. */
const CAREFUL_MS = 1000;
/** A task that was claimed ahead and waits this long is given back, for others to take. */
export const STALE_MS = 500;

/** Claims tasks, one claim at a time: for the free slots, and some ahead of them. */
export class Intake {
  readonly #deps: IntakeDeps;
  /** Drops to one after a suspect, because all that comes with a suspect goes back. Doubles with each claim without one. */
  #mostPerClaim = MAX_CLAIM;
  #carefulUntil = 0;
  #claimed = 0;
  #idleMs = 0;
  /** Queues that were paused while a claim was under way. Its tasks of these queues are given back. */
  readonly #paused = new Set<string>();

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  /** Claims until it is stopped; with `once`, until it has claimed a task. */
  async run(deps: AttemptDeps): Promise<void> {
    const { held, claims, options } = this.#deps;
    while (!claims.stopped) {
      const max = this.#room();
      if (max <= 0) await held.changed.next();
      else await this.#claim(deps, Math.min(max, this.#mostPerClaim, this.#portion(deps)));
      if (options.once && this.#claimed > 0) break;
    }
  }

  /** Tasks that the claim under way still brings are given back. */
  stop(): void {
    this.#deps.claims.stop();
  }

  async #claim(deps: AttemptDeps, max: number): Promise<void> {
    const { claims, held, lookahead, warn } = this.#deps;
    const { clock } = this.#deps.options.world;
    const signal = claims.begin();
    this.#paused.clear();
    const asked = clock.monotonic();
    const askedAt = clock.wall();
    const waitMs = this.#claimWaitMs;
    try {
      const batch = await deps.session.claim({ max, waitMs, signal });
      claims.finish();
      this.#countIdle(batch.length, waitMs, asked);
      // Only when the work was there before the claim: otherwise the wait for work would be measured.
      if (batch.some(({ createdAt }) => createdAt < askedAt)) lookahead.claimed(clock.monotonic() - asked);
      this.#accept(deps, batch, batch.length === max);
    } catch (error) {
      claims.finish();
      if (signal.aborted) return;
      // Sent home by its pool: what it has it finishes.
      if (isEngineError(error, 'WORKER_LEAVING')) return this.stop();
      warn('tasks cannot be claimed', error);
      const { timers, random } = this.#deps.options.world;
      await pause(timers, FAULT_PAUSE_MS * (0.5 + random()), { signal: claims.stopSignal });
    } finally {
      held.changed.open();
    }
  }

  /** Where a claim is to be on its way while handlers run, it leaves room for the next one. */
  #portion({ session }: AttemptDeps): number {
    const { lookahead, options } = this.#deps;
    if (session.claimsApart !== true || lookahead.size === 0) return MAX_CLAIM;
    return Math.ceil((options.slots + lookahead.size) / 2);
  }

  /** How many more tasks this worker may hold. */
  #room(): number {
    const { held, lookahead, options } = this.#deps;
    if (held.suspect !== undefined) return 0;
    if (options.once) return this.#claimed > 0 ? 0 : 1;
    if (held.settling.size >= MAX_UNSETTLED) return 0;
    const free = options.slots - held.running.size;
    const careful = options.world.clock.monotonic() < this.#carefulUntil;
    const ahead = careful ? 0 : lookahead.size;
    const room = free + ahead - held.ahead.length;
    // Claimed ahead in portions: a claim for each ended task would cost more than the task.
    return free > held.ahead.length || room >= ahead / 2 ? room : 0;
  }

  /** At most until the worker has been idle for too long. */
  get #claimWaitMs(): number {
    const { idleExitMs = Number.POSITIVE_INFINITY } = this.#deps.options;
    return Math.max(0, Math.min(CLAIM_WAIT_MS, idleExitMs - this.#idleMs));
  }

  /**
   * Ends the worker when nothing came for so long. Only the time counts that an answered claim has waited in vain: not the time
   * in which the store was away or the answer was on its way.
   */
  #countIdle(came: number, waitMs: number, asked: number): void {
    const { held, slots, options, onIdle } = this.#deps;
    const now = options.world.clock.monotonic();
    if (came > 0 || held.any) this.#idleMs = 0;
    else this.#idleMs = Math.min(this.#idleMs + Math.min(waitMs, now - asked), now - slots.idleSince);
    if (!held.any && came === 0 && this.#idleMs >= (options.idleExitMs ?? Number.POSITIVE_INFINITY)) onIdle();
  }

  /** `full`: as many as were asked for, so there is likely more. */
  #accept(deps: AttemptDeps, batch: readonly Assignment[], full: boolean): void {
    const { held, slots, claims, runners, options } = this.#deps;
    const all = batch.map((assignment) => new Attempt(deps, assignment));
    const { refused = [], attempts = [] } = Object.groupBy(all, ({ assignment }) =>
      this.#paused.has(assignment.queue) ? 'refused' : 'attempts',
    );
    if (refused.length > 0) void slots.giveBack(refused);
    this.#claimed += attempts.length;
    const suspects = batch.some((assignment) => runners.isDangerous(assignment));
    this.#mostPerClaim = suspects ? 1 : Math.min(MAX_CLAIM, 2 * this.#mostPerClaim);
    held.ahead.push(...attempts);
    // The claim was under way when the worker stopped, or a suspect came.
    if (claims.stopped || held.suspect !== undefined) {
      void slots.giveAllBack();
      return;
    }
    const { soon } = options.world.timers;
    // Handlers that end at once run in this very turn, all of them. The next claim leaves before, and is answered while they run (Postgres:
    // 16 to 22 k no-op tasks a second). After two turns, because the claim itself leaves in the next one.
    if (full && deps.session.claimsApart === true && this.#room() > 0) soon(() => soon(() => this.#start()));
    else this.#start();
  }

  #start(): void {
    this.#deps.slots.fill();
    this.#spareLastTries();
  }

  /** Tasks on their last try are not held ahead: should this process die, they would fail without having run. */
  #spareLastTries(): void {
    const { held, slots, options } = this.#deps;
    const last = held.ahead.filter(({ assignment }) => assignment.tries >= assignment.maxTries);
    if (last.length === 0 || options.once) return;
    for (const one of last) held.takeAhead(one);
    this.#carefulUntil = options.world.clock.monotonic() + CAREFUL_MS;
    void slots.giveBack(last);
  }

  /** Nothing more of this queue is started: what was claimed ahead goes back, and what the claim under way still brings. */
  paused(queue: string): void {
    const { held, slots, claims } = this.#deps;
    const ahead = held.ahead.filter(({ assignment }) => assignment.queue === queue);
    for (const one of ahead) held.takeAhead(one);
    if (ahead.length > 0) void slots.giveBack(ahead);
    if (!claims.pending) return;
    this.#paused.add(queue);
    // The next claim begins after the pause, and brings nothing of the queue until it is resumed.
    claims.interrupt();
  }

  /** Gives back what was claimed ahead when the oldest of it has waited too long. */
  giveStaleBack(): void {
    const { held, slots, claims, lookahead, options } = this.#deps;
    const oldest = held.ahead[0];
    if (oldest === undefined || options.world.clock.monotonic() - oldest.claimedAt < STALE_MS) return;
    lookahead.tooMuch();
    // A claim that still waits would take them again.
    claims.interrupt();
    void slots.giveAllBack();
  }
}
