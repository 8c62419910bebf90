/** The part of the port for duties: housekeeping that one process at a time holds, under a lease with an epoch. */
export interface DutyStore {
  /** Takes a duty that nobody holds; undefined while somebody does. */
  dutyTake(params: {
    readonly name: string;
    readonly holder: string;
    readonly ttlMs: number;
  }): Promise<DutyTenure | undefined>;
  dutyRenew(params: { readonly duty: DutyTerm; readonly ttlMs: number }): Promise<boolean>;
  dutyRelease(params: { readonly duty: DutyTerm }): Promise<void>;
  /** Every duty that was ever held, by name. */
  dutyList(): Promise<DutySnapshot>;
}

/** Proof of holding a duty: every duty write is conditional on the epoch, inside its own transaction. */
export interface DutyTerm {
  readonly name: string;
  readonly epoch: number;
}

/** One term of a duty. `vacant` says that the term before ended in order, so that nothing was missed. */
export interface DutyTenure extends DutyTerm {
  readonly cursor: number;
  readonly vacant: boolean;
}

export interface DutyRecord {
  readonly name: string;
  readonly holder: string;
  readonly epoch: number;
  /** Lease time; 0 when it was given back. */
  readonly until: number;
}

export interface DutySnapshot {
  readonly now: number;
  readonly duties: readonly DutyRecord[];
}
