import type { DutyTenure, DutyTerm } from '../../../src/store/store.ts';
import type { Board } from '../board.ts';
import { must } from '../trace.ts';

/** Who holds which duty. */
export class DutyModel {
  readonly #board: Board;
  readonly #duties = new Map<string, { epoch: number; until: number }>();

  constructor(board: Board) {
    this.#board = board;
  }

  taken(name: string, ttlMs: number, tenure: DutyTenure | undefined): void {
    const { now } = this.#board;
    const before = this.#duties.get(name) ?? { epoch: 0, until: 0 };
    if (tenure === undefined) {
      must(before.until >= now, 'I9', () => `free duty ${name} was refused`);
      return;
    }
    must(before.until < now, 'I9', () => `duty ${name} was given away while it was held`);
    must(
      tenure.epoch === before.epoch + 1,
      'I9',
      () => `duty ${name} went from epoch ${before.epoch} to ${tenure.epoch}`,
    );
    if (before.until > 0) this.#board.gates.reach('duty taken over');
    this.#duties.set(name, { epoch: tenure.epoch, until: now + ttlMs });
  }

  renewed(duty: DutyTerm, ttlMs: number, held: boolean): void {
    const { now } = this.#board;
    const current = this.#duties.get(duty.name);
    const right = current !== undefined && current.epoch === duty.epoch && current.until >= now;
    must(held === right, 'I9', () => `renewal of ${duty.name}@${duty.epoch} was answered ${held}`);
    if (held) this.#duties.set(duty.name, { epoch: duty.epoch, until: now + ttlMs });
  }

  released(duty: DutyTerm): void {
    if (this.#isCurrent(duty)) this.#duties.set(duty.name, { epoch: duty.epoch, until: 0 });
  }

  /** A duty write either came from the newest holder or was refused. */
  wrote(duty: DutyTerm, refused: boolean): void {
    const current = this.#isCurrent(duty);
    must(current || refused, 'I9', () => `a write of deposed ${duty.name}@${duty.epoch} landed`);
    must(!current || !refused, 'I9', () => `a write of ${duty.name}@${duty.epoch}, the holder, was refused`);
    if (refused) this.#board.gates.reach('deposed holder refused');
  }

  #isCurrent(duty: DutyTerm): boolean {
    return this.#duties.get(duty.name)?.epoch === duty.epoch;
  }
}
