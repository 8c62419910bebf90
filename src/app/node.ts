import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Duration, parseDuration } from '../core/duration.ts';
import { DEFAULT_HEARTBEAT_MS, heartbeatOf } from '../core/placement/worker.ts';
import type { Tracing } from '../core/task/trace.ts';
import type { World } from '../core/world.ts';
import { checkOptions } from '../engine/check.ts';
import { LeaderSnapshot } from '../engine/duties/leader.ts';
import { DEFAULT_DUTY_MS, Roster } from '../engine/duties/roster.ts';
import { Engine } from '../engine/engine.ts';
import { logLeases } from '../engine/lease-log.ts';
import { type Log, SILENT } from '../engine/log.ts';
import type { Store } from '../store/store.ts';
import { type ArtifactOptions, BlobPlace } from './artifacts/blob-place.ts';
import { type Cluster, type ClusterOptions, makeCluster } from './cluster.ts';
import type { WorkTerms } from './link/link-terms.ts';
import { openStore, type StoreOptions } from './store-url.ts';
import { type AppTriggerHost, lazyHost } from './triggers/host.ts';
import { realWorld } from './world.ts';

export interface NodeOptions extends Partial<StoreOptions>, ArtifactOptions {
  /** How long a claim holds without a renewal: `30s`, or milliseconds. */
  readonly leaseMs?: Duration;
  /** How long finished tasks, events and keys are kept: `7d`, or milliseconds. */
  readonly retentionMs?: Duration;
  /** How long it is kept who did what: `400d`, or milliseconds. */
  readonly auditRetentionMs?: Duration;
  /** A worker that has been silent for this long counts as lost; default 30 s. */
  readonly workerStaleMs?: number;
  /** How often workers send a heartbeat; at most a third of a lease; default 10 s. */
  readonly heartbeatMs?: Duration;
  /** How long a task may run when neither the task nor its handler sets a timeout; default: no bound. */
  readonly taskTimeoutMs?: Duration | undefined;
  /** How often a waiting claim looks for work without a hint: `1s`, or milliseconds. */
  readonly pollMs?: Duration;
  /** How often at least to look for expired leases: `1s`, or milliseconds. */
  readonly cleanupMs?: Duration;
  /** Whether this process takes the housekeeping duties while no node leads; default true. */
  readonly duties?: boolean;
  /** Whether this process looks at the pools of workers, and starts those that are missing; default: as `duties`. */
  readonly pools?: boolean;
  /** Destinations of webhooks that start workers, beside the Internet on ports 80 and 443: `10.0.0.0/8`, `hooks.internal:8080`. */
  readonly allowHttp?: readonly string[];
  /** `local`: starts workers on this host alone, and leaves pools with other launchers to other processes; default `all`. */
  readonly launchers?: 'all' | 'local';
  readonly dutyMs?: number;
  readonly log?: Log;
  /**
   * Writes traces; `true`: with the OpenTelemetry SDK that this process has set up; default false. Not with a `world` of your own,
   * which has no renewal thread.
   */
  readonly traces?: boolean | Tracing | undefined;
  /** Folders below which triggers may watch folders; default none. */
  readonly triggerRoots?: readonly string[] | undefined;
}

const KNOWN: ReadonlySet<string> = new Set([
  'world',
  'durability',
  'housekeeping',
  'leaseMs',
  'retentionMs',
  'auditRetentionMs',
  'workerStaleMs',
  'heartbeatMs',
  'taskTimeoutMs',
  'pollMs',
  'cleanupMs',
  'duties',
  'pools',
  'allowHttp',
  'launchers',
  'dutyMs',
  'log',
  'traces',
  'triggerRoots',
  'artifactStore',
  'artifactQuota',
  'artifactTaskQuota',
  'artifactRetentionMs',
] satisfies (keyof NodeOptions)[]);

/** The first tasks of a process come first. */
const DUTIES_MS = 500;
/** All at once they stop the loop of a young process for 20 ms, with the connections that they open. */
const DUTIES_APART_MS = 60;

/** An engine on a store, its housekeeping, and the wake-ups between processes: the composition root. */
export interface Node {
  readonly engine: Engine;
  readonly roster: Roster;
  readonly log: Log;
  /** What it asks of its workers. */
  readonly terms: WorkTerms;
  /** Its membership in a cluster; undefined for a process that only uses the store. */
  readonly cluster: Cluster | undefined;
  /** What it does for its triggers. */
  readonly triggerHost: AppTriggerHost;
  /** Where the bytes of artifacts lie. */
  readonly blobs: BlobPlace;
  close(): Promise<void>;
}

/** Called with the open store before the process takes part in anything. It refuses by throwing. */
export type Admission = (store: Store) => Promise<void>;

export async function openNode(
  url: string,
  options: NodeOptions = {},
  cluster?: ClusterOptions,
  admission?: Admission,
): Promise<Node> {
  checkOptions('node options', options, KNOWN);
  const world = await traced(options);
  const store = await openStore(url, { ...options, world });
  let node: Node | undefined;
  try {
    await admission?.(store);
    node = compose({ store, world, blobs: new BlobPlace(url, options) }, options, cluster);
    await node.cluster?.membership.start();
    node.cluster?.watchdog.start();
    return node;
  } catch (error) {
    await (node ?? store).close();
    throw error;
  }
}

async function traced({ world = realWorld(), traces = false }: NodeOptions): Promise<World> {
  if (traces === false) return world;
  if (traces !== true) return { ...world, tracing: traces };
  const { globalTracing } = await import('./tracing/global.ts');
  return { ...world, tracing: globalTracing(world) };
}

/** What a node is made on. */
interface Ground {
  readonly store: Store;
  readonly world: World;
  readonly blobs: BlobPlace;
}

function compose({ store, world, blobs }: Ground, options: NodeOptions, cluster: ClusterOptions | undefined): Node {
  const {
    leaseMs,
    retentionMs,
    auditRetentionMs,
    workerStaleMs,
    pollMs,
    cleanupMs,
    artifactQuota,
    artifactTaskQuota,
    artifactRetentionMs,
    log = SILENT,
    duties = true,
  } = options;
  const triggerHost = lazyHost();
  const engine = new Engine({
    store,
    world,
    triggerHost,
    ...(leaseMs === undefined ? {} : { leaseMs }),
    ...(workerStaleMs === undefined ? {} : { workerStaleMs }),
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(auditRetentionMs === undefined ? {} : { auditRetentionMs }),
    ...(pollMs === undefined ? {} : { pollMs }),
    ...(cleanupMs === undefined ? {} : { cleanupMs }),
    artifactQuota,
    artifactTaskQuota,
    ...(artifactRetentionMs === undefined ? {} : { artifactRetentionMs }),
    ...(blobs.isKnown ? { removeBlobs: async (keys) => (await blobs.open()).remove(keys) } : {}),
  });
  triggerHost.attach(engine);
  const terms = termsOf(engine, options);
  const incarnation = randomUUID();
  const roster = rosterOf(engine, incarnation, options, cluster);
  const member = cluster && makeCluster(cluster, { engine, roster, incarnation, log });
  const unwatch = store.watch({
    wanted: () => engine.waiting || roster.expects,
    onChange: (lanes, slots) => engine.hint(lanes, slots),
    onCarried: () => engine.carried(),
  });
  if (log !== SILENT) logLeases(engine, log);
  const cancelDuties = duties && member === undefined ? startDuties(roster, store, world) : () => {};
  const stopFiles = watchFiles(engine, options, member, log);
  return {
    engine,
    roster,
    log,
    terms,
    cluster: member,
    triggerHost,
    blobs,
    async close() {
      unwatch();
      await stopFiles();
      cancelDuties();
      member?.watchdog.stop();
      await member?.membership.leave();
      await roster.stop();
      await blobs.close();
      await store.close();
      // Claims and followers that still wait look again, and get `STORE_CLOSED` at once.
      engine.hint();
    },
  };
}

/** Returns a function that ends the watch. */
function watchFiles(
  engine: Engine,
  { triggerRoots: roots = [] }: NodeOptions,
  member: Cluster | undefined,
  log: Log,
): () => Promise<void> {
  if (roots.length === 0) return async () => {};
  const acts = (): boolean => member?.membership.doing !== 'observer';
  const loaded = import('./triggers/file-triggers.ts').then(({ FileTriggers }) => {
    const files = new FileTriggers({ engine, log, roots, node: member?.membership.id, acts });
    files.start();
    return files;
  });
  return async () => (await loaded).stop();
}

/**
 * Where each duty that is taken is a commit of its own, on a session that plans it anew, duties come after the first tasks. A process that only
 * pushes has ended by then. Returns a function that takes the start back.
 */
function startDuties(roster: Roster, store: Store, world: World): () => void {
  if (!store.capabilities.sharesCommits)
    return world.timers.after(DUTIES_MS, () => roster.start(DUTIES_APART_MS), { unref: true });
  roster.start();
  return () => {};
}

function termsOf(engine: Engine, { heartbeatMs = DEFAULT_HEARTBEAT_MS, taskTimeoutMs }: NodeOptions): WorkTerms {
  const { leaseMs, workerStaleMs: staleMs } = engine;
  return {
    heartbeatMs: heartbeatOf(parseDuration(heartbeatMs, 'heartbeatMs'), { leaseMs, staleMs }),
    runTimeoutMs: taskTimeoutMs === undefined ? undefined : parseDuration(taskTimeoutMs, 'taskTimeoutMs'),
  };
}

/** A node's roster runs while the node leads. A process that is not a node leaves the duties to a leader, while there is one. */
function rosterOf(
  engine: Engine,
  incarnation: string,
  { dutyMs, log = SILENT }: NodeOptions,
  cluster: ClusterOptions | undefined,
): Roster {
  const ttlMs = dutyMs === undefined ? DEFAULT_DUTY_MS : parseDuration(dutyMs, 'dutyMs');
  if (cluster !== undefined) {
    const holder = `${cluster.id}/${incarnation}`;
    return new Roster({ engine, log, holder, ttlMs: Math.min(ttlMs, cluster.leaderLeaseMs) });
  }
  const leader = new LeaderSnapshot(engine.store, engine.world);
  const holder = `${hostname()}/${process.pid}/${incarnation}`;
  return new Roster({ engine, log, holder, ttlMs, yields: () => leader.isThere() });
}
