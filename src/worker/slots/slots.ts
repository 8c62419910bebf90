import { fault } from '../../core/errors.ts';
import type { Session } from '../../protocol/link.ts';
import type { Attempt, AttemptListener, AttemptOutcome } from '../attempt.ts';
import type { Ladder, RunOutcome } from '../runner/runner.ts';
import type { Warn, WorkerOptions } from '../worker-options.ts';
import type { ClaimControl } from './claim-control.ts';
import { Completions } from './completions.ts';
import type { HandlerRunners } from './handler-runners.ts';
import type { HeldAttempts } from './held-attempts.ts';
import type { Lookahead } from './lookahead.ts';
import { Quarantine } from './quarantine.ts';

export interface SlotsDeps {
  readonly options: Pick<WorkerOptions, 'slots' | 'world' | 'once' | 'onSettled'>;
  readonly held: HeldAttempts;
  readonly runners: HandlerRunners;
  readonly claims: ClaimControl;
  readonly lookahead: Lookahead;
  /** Undefined before the start. */
  readonly session: () => Session | undefined;
  /** Of the session. */
  readonly leaseMs: () => number;
  readonly warn: Warn;
}

/** Room for a number of running handlers: starts claimed tasks, settles ended ones, and gives back those that are not started. */
export class Slots implements AttemptListener {
  readonly #deps: SlotsDeps;
  readonly #quarantine: Quarantine;
  readonly #completions: Completions;
  readonly outcomes: Record<AttemptOutcome, number> = {
    completed: 0,
    failed: 0,
    retried: 0,
    cancelled: 0,
    released: 0,
    lost: 0,
    parked: 0,
  };
  /** When the last run ended, or the worker started. */
  idleSince = 0;

  constructor(deps: SlotsDeps) {
    this.#deps = deps;
    const { options, held, claims, leaseMs } = deps;
    this.#quarantine = new Quarantine(
      { world: options.world, once: options.once === true, held, claims, leaseMs },
      this,
    );
    this.#completions = new Completions({
      session: deps.session,
      settled: (attempt, outcome) => this.#parted(attempt, outcome),
      settleAlone: (attempt, outcome, error) => void this.#recorded(attempt, attempt.settle(outcome, error)),
    });
  }

  /** Starts waiting attempts while a slot is free. */
  fill(): void {
    const { held, options, runners } = this.#deps;
    while (held.suspect === undefined && held.running.size < options.slots) {
      const next = held.ahead.shift();
      if (next === undefined) return;
      if (runners.isDangerous(next.assignment)) this.#quarantine.admit(next);
      else this.#start(next);
    }
  }

  /** The way of most attempts: without a promise for each, where their runner can do without. */
  #start(attempt: Attempt): void {
    const { held, runners } = this.#deps;
    const runner = runners.of(attempt.assignment);
    if (runner === undefined || !attempt.begin(runner, this)) void this.run(attempt);
    else held.running.add(attempt);
  }

  /** The handler of an attempt that was begun has ended. */
  ended(attempt: Attempt, outcome: RunOutcome): void {
    if (this.#deps.session()?.completeMany !== undefined && attempt.isPlain(outcome)) {
      this.#leave(attempt);
      this.#completions.add(attempt, outcome);
      this.#next();
    } else void this.#settle(attempt, outcome);
  }

  async run(attempt: Attempt): Promise<void> {
    const { held, runners } = this.#deps;
    const { assignment } = attempt;
    const runner = runners.of(assignment);
    held.running.add(attempt);
    const outcome =
      runner === undefined
        ? ({ kind: 'unstarted', error: fault('HANDLER_NOT_FOUND', { handler: assignment.handler }) } as const)
        : await attempt.run(runner, assignment.suspect);
    await this.#settle(attempt, outcome);
  }

  async #settle(attempt: Attempt, outcome: RunOutcome): Promise<void> {
    this.#leave(attempt);
    const settled = attempt.settle(outcome);
    this.#next();
    await this.#recorded(attempt, settled);
  }

  /** Its slot is free. */
  #leave(attempt: Attempt): void {
    const { held, lookahead } = this.#deps;
    lookahead.ran(attempt.ranMs);
    held.running.delete(attempt);
    held.settling.add(attempt);
  }

  /** After the settle was sent: both leave in the same turn of the loop, so that they can share a commit. */
  #next(): void {
    if (this.#deps.held.suspect === undefined) this.freed();
  }

  async #recorded(attempt: Attempt, settled: Promise<AttemptOutcome>): Promise<void> {
    const outcome = await settled.catch((error: unknown): AttemptOutcome => {
      // The lease runs out, and the reaper decides.
      this.#deps.warn(`the end of ${attempt.assignment.id} cannot be recorded`, error);
      return 'lost';
    });
    this.#parted(attempt, outcome);
  }

  #parted(attempt: Attempt, outcome: AttemptOutcome): void {
    const { held } = this.#deps;
    this.outcomes[outcome]++;
    held.settled(attempt);
    if (outcome !== 'parked') this.#tell(attempt, outcome);
    if (held.settling.size === 0 || held.suspect !== undefined) this.freed();
  }

  #tell(attempt: Attempt, outcome: Exclude<AttemptOutcome, 'parked'>): void {
    try {
      this.#deps.options.onSettled?.(attempt.assignment, outcome, attempt.ranMs);
    } catch (error) {
      this.#deps.warn('the listener for settled tasks failed', error);
    }
  }

  freed(): void {
    const { held, options } = this.#deps;
    if (held.running.size === 0) this.idleSince = options.world.clock.monotonic();
    this.fill();
    held.changed.open();
  }

  giveAllBack(): Promise<void> {
    return this.giveBack(this.#deps.held.ahead.splice(0));
  }

  async giveBack(attempts: readonly Attempt[], delayMs = 0): Promise<void> {
    const { held, warn } = this.#deps;
    for (const attempt of attempts) held.settling.add(attempt);
    await Promise.all(
      attempts.map(async (attempt) => {
        try {
          this.outcomes[await attempt.release(delayMs)]++;
        } catch (error) {
          this.outcomes.lost++;
          warn(`${attempt.assignment.id} cannot be given back`, error);
        } finally {
          held.settled(attempt);
        }
      }),
    );
    held.changed.open();
  }

  /** An attempt that loses its lease while it waits for a slot is not started. */
  dropLost(attempt: Attempt): void {
    const { held } = this.#deps;
    if (!held.takeAhead(attempt)) return;
    void attempt.settle({ kind: 'unstarted', error: undefined });
    this.outcomes.lost++;
    held.changed.open();
  }

  /** Stops running attempts, and gives back all others. */
  force(ladder: Ladder | undefined): void {
    const { held } = this.#deps;
    void this.giveAllBack();
    for (const attempt of held.running) attempt.stop('shutdown', ladder);
    if (held.suspect?.started === false) held.suspect.stop('shutdown');
    held.changed.open();
  }
}
