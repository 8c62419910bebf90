/** All contenders, in the order of the table's columns. To plug one in: write `contenders/NAME.ts` and add it here. */
import type { Contender } from './contender.ts';
import { floor } from './floor.ts';
import { leasehold } from './leasehold.ts';
import { library } from './library.ts';
import { plainjob } from './plainjob.ts';

/** The column that ratios refer to. */
export const REFERENCE = 'floor batch FULL';

export const contenders: readonly Contender[] = [
  leasehold,
  library,
  plainjob,
  floor({ name: 'floor single FULL', durability: 'FULL', batch: 1, drainTasks: 5_000, without: ['growth'] }),
  floor({ name: REFERENCE, durability: 'FULL', batch: 200, drainTasks: 60_000 }),
  floor({ name: 'floor batch NORMAL', durability: 'NORMAL', batch: 200, drainTasks: 60_000, without: ['growth'] }),
];

export function contender(name: string): Contender {
  const found = contenders.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no contender "${name}"`);
  return found;
}
