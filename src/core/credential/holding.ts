import { type DemandedLevel, type KnownLevel, refusalOf } from './level.ts';

/**
 * One credential at one worker. The position is the number that the stores write.
 *
 * `wanted`: the worker should have it, and has not said so. `stored`: it has acknowledged a version. `removing`: it should not have it any
 * more, and has not said so. `removed`: it has. `failed`: it could not take it, or is not given it. `told`: it says by itself that it has
 * one, which counts only where that was allowed.
 */
export const HOLDING_STATUSES = ['wanted', 'stored', 'removing', 'removed', 'failed', 'told'] as const;
export type HoldingStatus = (typeof HOLDING_STATUSES)[number];

export interface Holding {
  readonly status: HoldingStatus;
  /** The version that it should have, or had when it was taken away. */
  readonly wanted: number;
  /** The version that it has acknowledged last, since it is to have one. */
  readonly acked: number | undefined;
  readonly level: KnownLevel | undefined;
  readonly error: string | undefined;
}

/** What is asked of a worker that was chosen. */
export interface HoldingTerms {
  readonly version: number;
  readonly level: DemandedLevel | undefined;
}

export interface HoldingAck {
  readonly version: number;
  readonly status: 'stored' | 'removed' | 'failed';
  readonly level?: KnownLevel | undefined;
  readonly error?: string | undefined;
}

/** What a worker says of its place for credentials when it comes. */
export interface VaultSaid {
  readonly level: KnownLevel;
  /** By name, the version that it holds; undefined: it does not know versions. */
  readonly holds: ReadonlyMap<string, number | undefined>;
  /** It also tells of credentials that it has by itself. */
  readonly tells: boolean;
}

/** The label is carried from the acknowledgement on, also while a newer version is on its way. */
export function isHeld({ status }: Holding, countsOwn: boolean): boolean {
  return status === 'stored' || (status === 'told' && countsOwn);
}

/** Something is to be sent to the worker. */
export function isPending({ status, wanted, acked }: Holding): boolean {
  return status === 'wanted' || status === 'removing' || (status === 'stored' && acked !== wanted);
}

/**
 * The holding after an operator has changed the value, the choice or the demand. `terms` undefined: the worker is not chosen, or there is no
 * value. Undefined: there is none, and none comes of it. What failed is tried again.
 */
export function afterTerms(before: Holding | undefined, terms: HoldingTerms | undefined): Holding | undefined {
  if (terms === undefined) return before && MAY_HOLD.has(before.status) ? takenAway(before, undefined) : before;
  if (before === undefined) return fresh(terms.version, undefined);
  const refusal = refusalOf(before.level, terms.level);
  if (refusal !== undefined) {
    // A removal that is under way goes on; a version that may have arrived without its acknowledgement is taken back too.
    if (before.status === 'wanted' || before.status === 'stored') return takenAway(before, refusal);
    return { ...before, status: before.status === 'removing' ? 'removing' : 'failed', error: refusal };
  }
  if (before.status === 'stored') return { ...before, wanted: terms.version, error: undefined };
  return fresh(terms.version, before.level);
}

/**
 * All holdings of a worker that has come, by name: those that change. Undefined: there is none any more. `said` undefined: it has no place
 * for credentials.
 */
export function afterReport(
  before: ReadonlyMap<string, Holding>,
  termsOf: (name: string) => HoldingTerms | undefined,
  said: VaultSaid | undefined,
): ReadonlyMap<string, Holding | undefined> {
  const after = new Map<string, Holding | undefined>();
  for (const [name, holding] of before) {
    if (holding.status === 'told') {
      if (said?.tells !== true || !said.holds.has(name)) after.set(name, undefined);
    } else if (said === undefined) after.set(name, withoutVault(holding));
    else {
      const held = said.holds.has(name) ? (said.holds.get(name) ?? holding.acked) : undefined;
      after.set(name, afterTerms(reported(holding, said.level, held), termsOf(name)) as Holding);
    }
  }
  if (said?.tells === true) {
    for (const name of said.holds.keys()) if (!before.has(name)) after.set(name, TOLD);
  }
  return after;
}

/**
 * Undefined: it answers an order that does not stand any more, and changes nothing. So a worker that was chosen again, or is to have a newer
 * version, carries no label by an answer to what it was sent before.
 */
export function afterAck(before: Holding, ack: HoldingAck, terms: HoldingTerms | undefined): Holding | undefined {
  const { version, status, level, error = 'the worker does not say why' } = ack;
  if (before.status === 'removing') {
    if (status === 'stored') return undefined;
    if (status === 'failed') return { ...before, error };
    const gone = { ...before, status: 'removed', acked: undefined, error: undefined } as const;
    // It was taken away because its worker keeps it too openly: that is still so.
    return afterTerms(gone, terms);
  }
  const open = before.status === 'wanted' || before.status === 'stored';
  if (!open || status === 'removed' || version !== before.wanted) return undefined;
  const heard = { ...before, level: level ?? before.level };
  if (status === 'stored') return { ...heard, status: 'stored', acked: version, error: undefined };
  return { ...heard, status: 'failed', acked: undefined, error };
}

const TOLD: Holding = { status: 'told', wanted: 0, acked: undefined, level: 'unknown', error: undefined };
const MAY_HOLD: ReadonlySet<HoldingStatus> = new Set(['wanted', 'stored', 'failed']);

function fresh(version: number, level: KnownLevel | undefined): Holding {
  return { status: 'wanted', wanted: version, acked: undefined, level, error: undefined };
}

function takenAway(before: Holding, error: string | undefined): Holding {
  return { ...before, status: 'removing', acked: undefined, error };
}

function withoutVault(before: Holding): Holding {
  const none = { ...before, acked: undefined, level: undefined };
  if (!MAY_HOLD.has(before.status)) return { ...none, status: 'removed', error: undefined };
  return { ...none, status: 'failed', error: 'the worker takes no credentials' };
}

function reported(before: Holding, level: KnownLevel, held: number | undefined): Holding {
  const { status, wanted } = before;
  const known = { ...before, level, error: undefined };
  if (!MAY_HOLD.has(status)) return { ...known, status: held === undefined ? 'removed' : 'removing', acked: undefined };
  // A version above the wanted one is none of ours: the worker is sent ours, and says what it thinks of it.
  if (held !== undefined && held <= wanted) return { ...known, status: 'stored', acked: held };
  // It holds nothing, so that nothing need be taken away if its level is refused.
  return { ...known, status: 'failed', acked: undefined };
}
