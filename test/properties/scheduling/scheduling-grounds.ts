import { join } from 'node:path';
import type { World } from '../../../src/core/world.ts';
import { Roster } from '../../../src/engine/duties/roster.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { tempFolder } from '../../../src/store/conformance/kit/temp-folder.ts';
import { openSqlite } from '../../../src/store/sqlite/open.ts';
import type { StatementTexts } from '../../../src/store/sqlite/statements.ts';
import type { Store } from '../../../src/store/store.ts';
import { type StoreContractOptions, VirtualWorld } from '../../../src/testing.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { postgresContract } from '../../support/postgres-contract.ts';

/** Long against the steps of a trial, so that only the silence of many of them costs a lease. */
export const LEASE_MS = 3000;

/** A store, two processes on it, one of which does the housekeeping, and a way to let time pass. */
export interface Ground {
  readonly engines: readonly [Engine, Engine];
  readonly roster: Roster;
  readonly pass: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export type GroundMaker = (seed: number) => Promise<Ground>;

interface Opened {
  readonly world: VirtualWorld;
  readonly stores: readonly [Store, Store];
  readonly pass: (ms: number) => Promise<void>;
}

function groundOn({ world, stores, pass }: Opened): Ground {
  const engines = [engineOn(stores[0], world), engineOn(stores[1], world)] as const;
  const roster = new Roster({ engine: engines[0], holder: 'a' });
  return {
    engines,
    roster,
    pass,
    close: async () => {
      await roster.stop();
      for (const store of new Set(stores)) await store.close();
    },
  };
}

function engineOn(store: Store, world: World): Engine {
  return new Engine({ store, world, leaseMs: LEASE_MS, workerStaleMs: '1d' });
}

/** Both processes share the one connection to it. `statements`: a defect, to see that it is found. */
export async function inMemory(seed: number, statements: Partial<StatementTexts> = {}): Promise<Ground> {
  const world = new VirtualWorld({ seed });
  const store = await openSqlite({ file: 'memory:', world, statements });
  return groundOn({ world, stores: [store, store], pass: (ms) => world.advance(ms) });
}

export function onFiles(): GroundMaker {
  const folder = tempFolder('scheduling');
  return async (seed) => {
    const world = new VirtualWorld({ seed });
    const file = join(folder, `${seed}.db`);
    // Housekeeping has a thread of its own, whose time is not that of this world.
    const open = () => openSqlite({ file, world, housekeeping: false });
    return groundOn({ world, stores: [await open(), await open()], pass: (ms) => world.advance(ms) });
  };
}

/** One schema, which is emptied between the worlds. */
export async function onPostgres(): Promise<GroundMaker> {
  const contract = await postgresContract({ name: 'scheduling', url: await freshDatabase('scheduling') });
  const { open, reopen, pass } = contract as Required<StoreContractOptions>;
  return async (seed) => {
    const world = new VirtualWorld({ seed });
    const store = ageless(await open({ world }));
    const other = await reopen(store, { world });
    return groundOn({ world, stores: [store, other], pass: (ms) => pass(ms, store, { world }) });
  };
}

/** The age of the server is in real time, and no world is about it. */
function ageless(store: Store): Store {
  const leaseOverdue = store.leaseOverdue.bind(store);
  store.leaseOverdue = async (params) => {
    const { upForMs: _age, ...overdue } = await leaseOverdue(params);
    return overdue;
  };
  return store;
}
