import { join } from 'node:path';
import { openNode } from '../../src/app/node.ts';
import { freshDatabase } from '../support/postgres.ts';
import { look, type Snapshot, slotsIn } from './look.ts';
import { lookAtPostgres, SlotEye, unnumbered } from './look-postgres.ts';
import type { SeenSlot } from './look-schedule.ts';
import { until } from './survivors.ts';

export type StoreName = 'sqlite' | 'postgres';

/** Where a run has its data: the address for its processes, and a last look with none of the store's code. */
export interface Ground {
  readonly url: string;
  readonly look: () => Promise<Snapshot>;
  /** Looks at the counters of limits while others work. */
  readonly eye: () => Eye;
}

export interface Eye {
  look(): Promise<readonly SeenSlot[]>;
  close(): Promise<void>;
}

export async function groundOf(store: StoreName, folder: string): Promise<Ground> {
  return store === 'postgres' ? onPostgres(await freshDatabase('chaos')) : onFile(join(folder, 'chaos.db'));
}

function onFile(file: string): Ground {
  return {
    url: `sqlite:${file}`,
    look: async () => look(file),
    eye: () => ({ look: async () => slotsIn(file), close: async () => {} }),
  };
}

export function onPostgres(database: string): Ground {
  return {
    url: database,
    look: async () => {
      await numberAll(database);
      return lookAtPostgres(database);
    },
    eye: () => new SlotEye(database),
  };
}

/** Events get their numbers a moment after they happened, from whoever is there. */
async function numberAll(database: string): Promise<void> {
  const node = await openNode(database);
  try {
    await until(async () => (await unnumbered(database)) === 0, 20_000);
  } finally {
    await node.close();
  }
}

/** Whatever is wrong with the data itself. */
export function faultsOf({ integrity, gaps, drift, misfits }: Snapshot): readonly string[] {
  return [...(integrity === 'ok' ? [] : [`integrity: ${integrity}`]), ...gaps, ...drift, ...misfits];
}
