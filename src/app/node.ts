import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Roster } from '../engine/duties/roster.ts';
import { Engine } from '../engine/engine.ts';
import { type Log, SILENT } from '../engine/log.ts';
import { openStore, type StoreOptions } from './store-url.ts';
import { realWorld } from './world.ts';

export interface NodeOptions extends Partial<StoreOptions> {
  readonly leaseMs?: number;
  readonly retentionMs?: number;
  /** Whether this process tries for the housekeeping duties; default true. */
  readonly duties?: boolean;
  readonly dutyMs?: number;
  readonly log?: Log;
}

/** An engine on a store, its housekeeping, and the wake-ups between processes: the composition root. */
export interface Node {
  readonly engine: Engine;
  readonly roster: Roster;
  close(): Promise<void>;
}

export async function openNode(url: string, options: NodeOptions = {}): Promise<Node> {
  const { world = realWorld(), log = SILENT, duties = true } = options;
  const store = await openStore(url, { ...options, world });
  const engine = new Engine({
    store,
    world,
    ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
    ...(options.retentionMs === undefined ? {} : { retentionMs: options.retentionMs }),
  });
  const roster = new Roster({
    engine,
    log,
    holder: `${hostname()}/${process.pid}/${randomUUID()}`,
    ...(options.dutyMs === undefined ? {} : { ttlMs: options.dutyMs }),
  });
  const unwatch = store.watch({ wanted: () => engine.waiting, onChange: () => engine.hint() });
  if (duties) roster.start();
  return {
    engine,
    roster,
    async close() {
      unwatch();
      await roster.stop();
      await store.close();
    },
  };
}
