import { readFileSync } from 'node:fs';
import { styleText } from 'node:util';
import { adminToken } from '../../app/admin-token.ts';
import { tighten } from '../../app/data/data-folder.ts';
import { secretSource } from '../../app/data/secret-source.ts';
import { announceNode } from '../../app/node-file.ts';
import { type ServeOptions, type Service, serve } from '../../app/serve.ts';
import { storeFile, storeName } from '../../app/store-name.ts';
import { nodeEnvironment } from '../../config/environment.ts';
import type { Config } from '../../config/options.ts';
import { hostWorkerName } from '../../config/worker-name.ts';
import { fault } from '../../core/errors.ts';
import type { Display } from '../display/display.ts';
import { JsonDisplay } from '../display/json.ts';
import { PlainDisplay } from '../display/plain.ts';
import { ScreenDisplay } from '../display/screen.ts';
import { artifactOptionsOf } from '../kit/artifact-place.ts';
import { EXIT, exitCodeOfSignal } from '../kit/exit.ts';
import { figuresOf, type TimedSnapshot } from '../kit/figures.ts';
import { ownFolder } from '../kit/own-folder.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { type Traces, tracesFor } from '../kit/traces.ts';
import { packageVersion } from '../kit/version.ts';
import { workerOptions } from './worker-options.ts';

const POLL_MS = 1000;
const REPEAT_MS = 30_000;
const FORCED_MS = 1000;

type ClusterOptions = NonNullable<ServeOptions['cluster']>;

/** Whether events in the cluster are shown. */
interface InfoShown {
  on: boolean;
}

/** Called when the node has started; the returned function is called when it stops. */
export type OnStarted = (service: Service, display: Display) => () => void;

/** Runs a node until a signal, and shows it on the terminal. */
export async function runNode(config: Config, onStarted: OnStarted = () => () => {}): Promise<number> {
  const display = displayFor(config);
  const stopped = Promise.withResolvers<void>();
  let service: Service | undefined;
  const traces = await tracesFor(config, config.name);
  let unannounce = (): void => {};
  const unlisten = onStopSignals({
    stop: () => stopped.resolve(),
    forceable: () => display.stillStopping(),
    force: (signal) => {
      unannounce();
      void endAtOnce(service, display, exitCodeOfSignal(signal));
    },
  });
  // A reader that goes away (`leasehold up | head`) stops the node in order.
  process.stdout.on('error', () => stopped.resolve());
  try {
    const shown: InfoShown = { on: false };
    service = await open(config, display, shown, traces);
    unannounce = announce(config.dataDir, service, display);
    // Withdrawn as soon as the stop begins: then commands use the store.
    void stopped.promise.then(unannounce);
    await show(service, config, display, shown, onStarted, stopped.promise);
  } finally {
    unannounce();
    await traces.close();
    unlisten();
    display.restore();
  }
  return EXIT.fine;
}

/** Commands of this directory find the node by a file. Where it cannot be written they use the store, or --server. */
function announce(dataDir: string, { address }: Service, display: Display): () => void {
  try {
    return announceNode(dataDir, { url: address, pid: process.pid });
  } catch (error) {
    display.warning('commands will not find this node by themselves', { error: (error as Error).message });
    return () => {};
  }
}

/** Running tasks are killed and given back, if the store answers within a second; otherwise their leases run out. */
async function endAtOnce(service: Service | undefined, display: Display, status: number): Promise<never> {
  display.restore();
  setTimeout(() => process.exit(status), FORCED_MS).unref();
  await service?.close({ force: true }).catch(() => {});
  process.exit(status);
}

function open(config: Config, display: Display, shown: InfoShown, { tracing }: Traces): Promise<Service> {
  const { store, host, port, durability, leaseDuration, retention, auditRetention, pollInterval, cleanupInterval } =
    config;
  const say = sparing((message, fields) => display.warning(message, fields));
  // Start and stop have messages of their own.
  const info: Say = (message, fields) => void (shown.on && display.info(message, fields));
  return serve({
    store,
    host,
    port,
    version: packageVersion(),
    prepare: () => {
      ownFolder(config);
      tighten({ folder: config.dataDir, file: storeFile(store) });
    },
    adminToken: () => adminToken(config.dataDir, config.token),
    secret: secretSource({ dataDir: config.dataDir, file: config.clusterSecretFile, ...nodeEnvironment() }),
    names: config.publicHost,
    tls: tlsOf(config),
    insecure: config.insecureBehindProxy,
    traces: tracing,
    publicUrl: config.publicUrl,
    ...(config.release === undefined ? {} : { release: () => config.release }),
    maxConnections: config.maxConnections,
    maxStreams: config.maxStreams,
    bounds: { rate: config.pushRate, queued: config.maxQueued, queuedInAll: config.maxQueuedInAll },
    durability,
    leaseMs: leaseDuration,
    heartbeatMs: config.heartbeatInterval,
    workerStaleMs: config.staleThreshold,
    taskTimeoutMs: config.taskTimeout,
    allowHttp: config.allowHttp,
    agents: { byPath: config.compat.includes('dazflow'), offlineMs: config.offlineAfter },
    retentionMs: retention,
    auditRetentionMs: auditRetention,
    pollMs: pollInterval,
    cleanupMs: cleanupInterval,
    cluster: config.cluster ? clusterOf(config) : undefined,
    worker: config.worker ? workerOptions(config, hostWorkerName()) : undefined,
    triggerRoots: config.triggerRoots,
    ...artifactOptionsOf(config),
    drainMs: config.drainTimeout,
    log: { ...(config.logLevel === 'debug' ? { debug: info } : {}), info, warn: say, error: say },
  });
}

function clusterOf(config: Config): ClusterOptions {
  const { name = hostWorkerName(), role, leaderLease, leaderRenew, staleThreshold, nodeDeadThreshold } = config;
  if (nodeDeadThreshold < staleThreshold) {
    throw fault('INVALID_INPUT', { field: '--node-dead-threshold', problem: 'a node is stale before it is dead' });
  }
  return {
    id: name,
    role,
    leaderLeaseMs: leaderLease,
    leaderRenewMs: leaderRenew,
    silence: { staleMs: staleThreshold, deadMs: nodeDeadThreshold },
  };
}

function tlsOf({ tlsCert, tlsKey }: Config): { readonly cert: string; readonly key: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw fault('INVALID_INPUT', {
      field: tlsCert === undefined ? '--tls-cert' : '--tls-key',
      problem: 'a certificate and its key come together',
    });
  }
  return { cert: readPem(tlsCert), key: readPem(tlsKey) };
}

function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw fault('NOT_FOUND', { kind: 'file', id: file }, { hint: 'Name a file that this user can read.', cause });
  }
}

async function show(
  service: Service,
  config: Config,
  display: Display,
  shown: InfoShown,
  onStarted: OnStarted,
  stop: Promise<void>,
): Promise<void> {
  const startedAt = performance.now();
  display.started({
    version: packageVersion(),
    address: service.address,
    login: () => service.loginLink(),
    store: storeName(config.store),
    pid: process.pid,
  });
  shown.on = true;
  const stopLooking = watch(service, display, startedAt);
  const leave = onStarted(service, display);
  await stop;
  leave();
  stopLooking();
  shown.on = false;
  display.stopping();
  await service.close();
  display.stopped(Math.round(performance.now() - startedAt));
}

/** Polls the node each second. An error is shown once, and the poll goes on. */
function watch(service: Service, display: Display, startedAt: number): () => void {
  let before: TimedSnapshot | undefined;
  let complaint = '';
  let looking = false;
  let over = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      const now: TimedSnapshot = { ...(await service.glance()), at: performance.now() };
      if (!over) display.figures(figuresOf(now, before, startedAt));
      before = now;
      complaint = '';
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!over && message !== complaint) display.warning(message);
      complaint = message;
    } finally {
      looking = false;
    }
  };
  const timer = setInterval(() => void look(), POLL_MS);
  if (display instanceof ScreenDisplay) {
    void look();
    process.stdout.on('resize', () => display.resized());
  }
  return () => {
    over = true;
    clearInterval(timer);
  };
}

type Say = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Repeats the same warning only after half a minute: a duty without its store warns each second. */
function sparing(say: Say): Say {
  const saidAt = new Map<string, number>();
  return (message, fields) => {
    const words = JSON.stringify([message, fields]);
    const now = performance.now();
    if (now - (saidAt.get(words) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    if (saidAt.size >= 100) saidAt.clear();
    saidAt.set(words, now);
    say(message, fields);
  };
}

function displayFor(config: Config): Display {
  const { stdout } = process;
  const write = (text: string): void => void stdout.write(text);
  if (config.json) return new JsonDisplay({ write, wall: Date.now });
  if (!stdout.isTTY) return new PlainDisplay({ write });
  return new ScreenDisplay({
    write,
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    // styleText adds colours only where the stream takes them and NO_COLOR is not set.
    style: (format, text) => styleText(format, text, { stream: stdout }),
  });
}
