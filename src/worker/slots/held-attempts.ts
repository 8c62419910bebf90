import type { Attempt } from '../attempt.ts';
import { Gate } from './gate.ts';

/**
 * The attempts that a worker holds, by how far they are.
 *
 *   claimed ──> ahead ──a slot is free──> running ──> settling ──> gone
 *                 └──too long, suspects, drain──> given back
 */
export class HeldAttempts {
  /** Claimed, and waiting for a slot; the oldest first. */
  readonly ahead: Attempt[] = [];
  readonly running = new Set<Attempt>();
  /** Their outcomes are being recorded. */
  readonly settling = new Set<Attempt>();
  /** Their leases could not be renewed in time, because the store did not answer. */
  readonly suspended = new Set<Attempt>();
  /** The suspect that runs alone, or waits until it can. */
  suspect: Attempt | undefined;
  /** Opens at every change that a claim, a suspect or a stop may wait for. */
  readonly changed = new Gate();

  get any(): boolean {
    return this.running.size + this.settling.size + this.ahead.length > 0 || this.suspect !== undefined;
  }

  find(task: number, attempt?: number): Attempt | undefined {
    // A parked attempt may still run when its task is claimed again.
    const is = (one: Attempt): boolean =>
      one.assignment.task === task && !one.yielded && (attempt === undefined || one.assignment.attempt === attempt);
    for (const one of this.running) if (is(one)) return one;
    for (const one of this.settling) if (is(one)) return one;
    if (this.suspect !== undefined && is(this.suspect)) return this.suspect;
    return this.ahead.find(is);
  }

  /** Removes it from those that wait for a slot; false when it is not among them. */
  takeAhead(one: Attempt): boolean {
    const at = this.ahead.indexOf(one);
    if (at === -1) return false;
    this.ahead.splice(at, 1);
    return true;
  }

  settled(one: Attempt): void {
    this.settling.delete(one);
    this.suspended.delete(one);
  }
}
