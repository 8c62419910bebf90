import { createHash } from 'node:crypto';
import type { LimitUse } from '../../core/limits/limit.ts';
import { type LaneKey, laneText } from '../../core/placement/lane.ts';
import { ANYWHERE, type Placement } from '../../core/placement/placement.ts';
import type { LaneRules, LaneWish, NamedUse } from '../store.ts';

/** The columns of a lane beyond its queue and handler. A plain lane has none of them. */
export interface RuleColumns {
  readonly placement: string | null;
  readonly fair_key: string | null;
  readonly weight: number;
  readonly limits: string | null;
  /** JSON of the counters that its tasks take from. */
  readonly slots: string;
  readonly served_by: string | null;
}

/** A use as the column has it. */
interface StoredUse extends Omit<NamedUse, 'counter'> {
  readonly slot: number;
}

export function usesIn(slots: string): readonly NamedUse[] {
  return (JSON.parse(slots) as StoredUse[]).map(({ slot, ...use }) => ({ counter: slot, ...use }));
}

export function keyOf({ queue, handler, placement = ANYWHERE, limits = [], fairness }: LaneWish): LaneKey {
  return { queue, handler, placement, limits, fairness };
}

/** What a lane is found by. */
export const laneHash = (wish: LaneWish): string => hashOf(laneText(keyOf(wish)));

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

export function columnsOf(wish: LaneWish, uses: readonly NamedUse[]): RuleColumns {
  const { placement, limits, fairness } = keyOf(wish);
  return {
    placement: Object.keys(placement).length === 0 ? null : JSON.stringify(placement),
    fair_key: fairness?.key ?? null,
    weight: fairness?.weight ?? 1,
    limits: limits.length === 0 ? null : JSON.stringify(limits),
    slots: JSON.stringify(uses.map(({ counter, ...use }): StoredUse => ({ slot: counter, ...use }))),
    served_by: null,
  };
}

export function rulesOf({
  placement,
  fair_key: key,
  weight,
  limits,
  slots,
  served_by,
}: RuleColumns): LaneRules | undefined {
  if (placement === null && key === null && limits === null) return undefined;
  return {
    placement: placement === null ? ANYWHERE : (JSON.parse(placement) as Placement),
    limits: limits === null ? [] : (JSON.parse(limits) as LimitUse[]),
    fairness: key === null ? undefined : { key, weight },
    uses: usesIn(slots),
    servedBy: served_by ?? undefined,
  };
}
