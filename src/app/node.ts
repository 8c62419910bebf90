import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Duration, parseDuration } from '../core/duration.ts';
import type { Tracing } from '../core/trace.ts';
import type { World } from '../core/world.ts';
import { checkOptions } from '../engine/check.ts';
import { Roster } from '../engine/duties/roster.ts';
import { Engine } from '../engine/engine.ts';
import { type Log, SILENT } from '../engine/log.ts';
import type { Store } from '../store/store.ts';
import { openStore, type StoreOptions } from './store-url.ts';
import { realWorld } from './world.ts';

export interface NodeOptions extends Partial<StoreOptions> {
  /** How long a claim holds without being renewed: `30s`, or milliseconds. */
  readonly leaseMs?: Duration;
  /** How long finished tasks, events and keys are kept: `7d`, or milliseconds. */
  readonly retentionMs?: Duration;
  /** A worker that has been silent for so long counts as lost; default 30 s. */
  readonly workerStaleMs?: number;
  /** Whether this process tries for the housekeeping duties; default true. */
  readonly duties?: boolean;
  readonly dutyMs?: number;
  readonly log?: Log;
  /**
   * Writes traces: `true` by the OpenTelemetry SDK that this process has set up; default false. Not by a world that is given: who
   * owns the clock has no thread that renews.
   */
  readonly traces?: boolean | Tracing | undefined;
}

const KNOWN: ReadonlySet<string> = new Set([
  'world',
  'durability',
  'housekeeping',
  'leaseMs',
  'retentionMs',
  'workerStaleMs',
  'duties',
  'dutyMs',
  'log',
  'traces',
] satisfies (keyof NodeOptions)[]);

/** An engine on a store, its housekeeping, and the wake-ups between processes: the composition root. */
export interface Node {
  readonly engine: Engine;
  readonly roster: Roster;
  readonly log: Log;
  close(): Promise<void>;
}

export async function openNode(url: string, options: NodeOptions = {}): Promise<Node> {
  checkOptions('node options', options, KNOWN);
  const world = await traced(options);
  const store = await openStore(url, { ...options, world });
  try {
    return compose(store, world, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function traced({ world = realWorld(), traces = false }: NodeOptions): Promise<World> {
  if (traces === false) return world;
  if (traces !== true) return { ...world, tracing: traces };
  const { globalTracing } = await import('./tracing/global.ts');
  return { ...world, tracing: globalTracing(world) };
}

function compose(store: Store, world: World, options: NodeOptions): Node {
  const { leaseMs, retentionMs, workerStaleMs, dutyMs, log = SILENT, duties = true } = options;
  const engine = new Engine({
    store,
    world,
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(workerStaleMs === undefined ? {} : { workerStaleMs }),
    ...(retentionMs === undefined ? {} : { retentionMs }),
  });
  const roster = new Roster({
    engine,
    log,
    holder: `${hostname()}/${process.pid}/${randomUUID()}`,
    ...(dutyMs === undefined ? {} : { ttlMs: parseDuration(dutyMs, 'dutyMs') }),
  });
  const unwatch = store.watch({ wanted: () => engine.waiting, onChange: (lanes, slots) => engine.hint(lanes, slots) });
  if (duties) roster.start();
  return {
    engine,
    roster,
    log,
    async close() {
      unwatch();
      await roster.stop();
      await store.close();
      // Who still waits for work or for events looks again, and hears at once that the store is closed.
      engine.hint();
    },
  };
}
