/** To plug one in: write `contenders/sqlite/NAME.ts` and add it here. */

import { COLD_TASKS } from '../../path/part.ts';
import type { Contender } from '../contender.ts';
import { leasehold } from '../leasehold.ts';
import { library } from '../library.ts';
import { variantsOf } from '../variants.ts';
import { floor } from './floor.ts';
import { plainjob } from './plainjob.ts';
import { seedFinished } from './seed-finished.ts';

/** The column that ratios refer to. */
export const REFERENCE = 'floor batch FULL';

/** One task a commit; a push is one INSERT. */
export const SINGLE = 'floor single FULL';
export const PEER = 'plainjob';

export const url = (file: string): string => `sqlite:${file}`;

export const variants = variantsOf(url);

export const contenders: readonly Contender[] = [
  leasehold({ url, seedFinished }),
  library({ url, without: [], warmTasks: COLD_TASKS, seedFinished }),
  plainjob,
  floor({ name: SINGLE, durability: 'FULL', batch: 1, drainTasks: 5_000, without: ['growth'] }),
  floor({ name: REFERENCE, durability: 'FULL', batch: 200, drainTasks: 60_000 }),
  floor({ name: 'floor batch NORMAL', durability: 'NORMAL', batch: 200, drainTasks: 60_000, without: ['growth'] }),
];
