import { VALUES } from './corpus.ts';
import type { Rig, StoreKind } from './rig.ts';

/** One kind of step: its numbers, each from 0 to below the bound that stands beside its name, and what to do with them. */
export interface Operation {
  /** How often it comes, against the others. */
  readonly weight: number;
  readonly bounds: Readonly<Record<string, number>>;
  /** On these kinds of stores alone. */
  readonly only?: readonly StoreKind[];
  readonly run: (rig: Rig, n: Readonly<Record<string, number>>) => Promise<unknown>;
}
export function operation<B extends Readonly<Record<string, number>>>(
  weight: number,
  bounds: B,
  run: (rig: Rig, n: { readonly [K in keyof B]: number }) => Promise<unknown>,
  only?: readonly StoreKind[],
): Operation {
  return { weight, bounds, run: run as Operation['run'], ...(only === undefined ? {} : { only }) };
}

/** Which of the two processes. */
export const BY = 2;
/** A number to choose with from what is there, however much that is. */
export const ANY = 1_000;
export const TASK = { queue: 3, handler: 2, value: VALUES.length, priority: 6, tries: 4, policy: 4 };
export const LEASE = { how: 10, which: ANY, bare: 2 };

export function at<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T;
}

export function pick<T>(list: readonly T[], n: number): T | undefined {
  return list.length === 0 ? undefined : at(list, n);
}
