import { fault } from '../../core/errors.ts';
import type { Attempt, AttemptOutcome } from '../attempt.ts';
import type { Ladder } from '../runner/runner.ts';
import type { Warn, WorkerOptions } from '../worker-options.ts';
import type { ClaimControl } from './claim-control.ts';
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
  /** Of the session. */
  readonly leaseMs: () => number;
  readonly warn: Warn;
}

/** Room for a number of running handlers: starts claimed tasks, settles ended ones, and gives back those that are not started. */
export class Slots {
  readonly #deps: SlotsDeps;
  readonly #quarantine: Quarantine;
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
  }

  /** Starts waiting attempts while a slot is free. */
  fill(): void {
    const { held, options, runners } = this.#deps;
    while (held.suspect === undefined && held.running.size < options.slots) {
      const next = held.ahead.shift();
      if (next === undefined) return;
      if (runners.isDangerous(next.assignment)) this.#quarantine.admit(next);
      else void this.run(next);
    }
  }

  async run(attempt: Attempt): Promise<void> {
    const { held, runners, lookahead, warn } = this.#deps;
    const { assignment } = attempt;
    const { clock } = this.#deps.options.world;
    const runner = runners.of(assignment);
    held.running.add(attempt);
    const started = clock.monotonic();
    const ended =
      runner === undefined
        ? ({ kind: 'unstarted', error: fault('HANDLER_NOT_FOUND', { handler: assignment.handler }) } as const)
        : await attempt.run(runner, assignment.suspect);
    const ranMs = clock.monotonic() - started;
    lookahead.ran(ranMs);
    held.running.delete(attempt);
    held.settling.add(attempt);
    // The settle leaves in the same turn of the loop as the next claim, so that they can share a commit.
    const settled = attempt.settle(ended);
    if (held.suspect === undefined) this.freed();
    const outcome = await settled.catch((error: unknown): AttemptOutcome => {
      // The lease runs out, and the reaper decides.
      warn(`the end of ${assignment.id} cannot be recorded`, error);
      return 'lost';
    });
    this.#parted(attempt, outcome, ranMs);
    if (held.settling.size === 0 || held.suspect !== undefined) this.freed();
  }

  #parted(attempt: Attempt, outcome: AttemptOutcome, ranMs: number): void {
    this.outcomes[outcome]++;
    this.#deps.held.settled(attempt);
    if (outcome === 'parked') return;
    try {
      this.#deps.options.onSettled?.(attempt.assignment, outcome, ranMs);
    } catch (error) {
      this.#deps.warn('who wanted to hear of settled tasks failed', error);
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
