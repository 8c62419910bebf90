import { fault } from '../errors.ts';
import type { LimitUse } from '../limits/limit.ts';
import { checkKey } from '../names.ts';
import { ANYWHERE, type Placed } from './placement.ts';

/** The fairness key of a task. Tasks with the same key share one turn; the turns of keys are in proportion to their weights. */
export interface Fairness {
  readonly key: string;
  readonly weight: number;
}

export type FairnessInput = string | { readonly key: string; readonly weight?: number | undefined };

/**
 * What makes tasks interchangeable for the scheduler: where they may run, what they take from which limits, whose turn they use. There are
 * few distinct lanes. So each is interned, and a claim names the lanes that it may serve instead of looking at every task.
 */
export interface LaneKey extends Placed {
  readonly limits: readonly LimitUse[];
  readonly fairness: Fairness | undefined;
}

const MAX_WEIGHT = 1000;

/** The same lane has the same text, for ever: stores find it by a hash of this. */
export function laneText({ queue, handler, placement, limits, fairness }: LaneKey): string {
  const plain = Object.keys(placement).length === 0 && limits.length === 0 && fairness === undefined;
  if (plain) return JSON.stringify([queue, handler]);
  return JSON.stringify([queue, handler, placement, limits, fairness ?? null]);
}

export function plainLane(queue: string, handler: string): LaneKey {
  return { queue, handler, placement: ANYWHERE, limits: NONE, fairness: undefined };
}

const NONE: readonly LimitUse[] = Object.freeze([]);

export function normalizeFairness(input: FairnessInput): Fairness {
  if (typeof input === 'string') return { key: checkKey('fairness', input), weight: 1 };
  if (
    typeof input !== 'object' ||
    input === null ||
    Object.keys(input).some((key) => key !== 'key' && key !== 'weight')
  ) {
    throw fault('INVALID_INPUT', {
      field: 'fairness',
      problem: 'it must be a key, or an object with a key and a weight',
    });
  }
  const { key, weight = 1 } = input;
  if (!Number.isSafeInteger(weight) || weight < 1 || weight > MAX_WEIGHT) {
    throw fault('INVALID_INPUT', {
      field: 'fairness.weight',
      problem: `it must be a whole number from 1 to ${MAX_WEIGHT}`,
    });
  }
  return { key: checkKey('fairness.key', key), weight };
}
