/** To plug one in: write `contenders/sqlite/NAME.ts` and add it here. */
import type { Contender } from '../contender.ts';
import { leasehold } from '../leasehold.ts';
import { library } from '../library.ts';
import { floor } from './floor.ts';
import { plainjob } from './plainjob.ts';
import { seedFinished } from './seed-finished.ts';

/** The column that ratios refer to. */
export const REFERENCE = 'floor batch FULL';

const url = (file: string): string => `sqlite:${file}`;

export const contenders: readonly Contender[] = [
  leasehold({ url, seedFinished }),
  library({ url, without: ['growth'] }),
  plainjob,
  floor({ name: 'floor single FULL', durability: 'FULL', batch: 1, drainTasks: 5_000, without: ['growth'] }),
  floor({ name: REFERENCE, durability: 'FULL', batch: 200, drainTasks: 60_000 }),
  floor({ name: 'floor batch NORMAL', durability: 'NORMAL', batch: 200, drainTasks: 60_000, without: ['growth'] }),
];
