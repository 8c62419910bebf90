import { join } from 'node:path';
import { type BuiltinOptions, builtinWorker } from '../../app/builtin-worker.ts';
import { tighten } from '../../app/data/data-folder.ts';
import { secretSource } from '../../app/data/secret-source.ts';
import { type App, open } from '../../app/open.ts';
import type { Addresses, Credentials, Log, VaultWish, Worker } from '../../app/remote/remote-worker.ts';
import type { UpdaterLink, UpdaterLinkOptions } from '../../app/remote/updater-link.ts';
import { storeName } from '../../app/store-name.ts';
import { realWorld, type Tracing } from '../../app/world.ts';
import { nodeEnvironment } from '../../config/environment.ts';
import { loadConfig, sourceOf } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import { defaultWorkerName } from '../../config/worker-name.ts';
import { fault, isEngineError } from '../../core/errors.ts';
import { type SettledTask, WorkerDisplay } from '../display/worker.ts';
import { artifactOptionsOf } from '../kit/artifact-place.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal } from '../kit/exit.ts';
import { ownFolder } from '../kit/own-folder.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { tracesFor } from '../kit/traces.ts';
import { packageVersion } from '../kit/version.ts';
import { WORKER_OPTIONS, workerOptions } from './worker-options.ts';

const FORCED_MS = 1000;
const AT_ONCE = { abortMs: 0, termMs: 0 };

/** `leasehold worker`: a worker for a node, or directly on a store. */
export const worker: Command = {
  name: 'worker',
  doc: 'Run a worker, for a node on another host or directly on a store: many at once share the work',
  options: [
    'join',
    'http',
    'insecure',
    'code',
    'enrol',
    'updater',
    'secret',
    'vault',
    'vaultLevel',
    'store',
    'dataDir',
    'durability',
    'leaseDuration',
    'pollInterval',
    'artifactStore',
    'artifactQuota',
    'artifactTaskQuota',
    'artifactRetention',
    ...WORKER_OPTIONS,
    'otlpEndpoint',
    'serviceName',
    'once',
    'ticket',
    'pool',
    'idleExit',
    'drainTimeout',
    'json',
  ],
  examples: [
    {
      line: 'worker --join http://127.0.0.1:7420',
      does: 'for a node, with LEASEHOLD_WORKER_CODE of "workers create --code"',
    },
    { line: 'worker --join http://a:7420 --join http://b:7420', does: 'for two nodes of a cluster: b when a is away' },
    { line: 'worker --store sqlite:./work.db --slots 8', does: 'until Ctrl-C, which lets running tasks finish' },
    { line: 'worker --once', does: 'claim one task, run it, end; the status says how it went' },
    { line: 'worker --handlers ./tasks.ts --idle-exit 30s', does: 'with own tasks, until there is nothing to do' },
  ],

  async run(args) {
    const config = loadConfig(worker, args);
    if (config.enrol) return enrolOnly(config);
    const { once, idleExit, drainTimeout } = config;
    const display = new WorkerDisplay({ json: config.json, stream: process.stdout });
    const settled: SettledTask[] = [];
    const options = workerOptions(config, defaultWorkerName());
    const traces = await tracesFor(config, options.name);
    let upgrading = false;
    const updater = isSome(config.join)
      ? await updaterLink(config, {
          warn: (message, fields) => display.warning(message, fields),
          upgrade: ({ required_version: wanted }) => {
            if (upgrading) return;
            upgrading = true;
            display.upgrading(wanted);
            // No bound: what runs is never cut off for an upgrade.
            void running.stop();
          },
          abandoned: () => void running.stop({ drainMs: drainTimeout }),
        })
      : undefined;
    const opened = await openWorker(config, {
      ...options,
      upgrades: updater,
      traces: traces.tracing,
      once,
      ticket: config.ticket,
      idleExitMs: idleExit,
      log: { info: () => {}, warn: display.warning, error: display.warning },
      onSettled: ({ id, queue, handler }, outcome, ranMs) => {
        const one = { id, queue, handler, outcome, ranMs };
        if (once) settled.push(one);
        display.settled(one);
      },
    });
    const running = opened.worker;
    let stopping = false;
    let forced: number | undefined;
    const unlisten = onStopSignals({
      stop: () => {
        stopping = true;
        display.stopping();
        void running.stop({ drainMs: drainTimeout });
      },
      forceable: () => display.stillStopping(),
      force: (signal) => {
        forced = exitCodeOfSignal(signal);
        setTimeout(() => process.exit(forced), FORCED_MS).unref();
        void running.stop({ drain: false, ladder: AT_ONCE });
      },
    });
    try {
      await running.start();
      updater?.connected();
      display.started({
        name: opened.name,
        handlers: running.handlers,
        slots: once ? 1 : options.slots,
        store: opened.place,
      });
      await running.ended;
    } catch (error) {
      // The stop ended the wait for a node that was never reached, as requested.
      if (!stopping || !isEngineError(error, 'STORE_CLOSED')) throw error;
    } finally {
      await opened.close();
      await traces.close();
      unlisten();
    }
    display.stopped(running.stats.settled);
    if (running.dismissal !== undefined) throw running.dismissal;
    if (upgrading) return forced ?? EXIT.upgrade;
    return forced ?? (once ? statusOf(settled[0]) : EXIT.fine);
  },
};

interface OpenedWorker {
  readonly worker: Worker;
  readonly name: string;
  /** The source of its tasks: nodes or a store. */
  readonly place: string;
  close(): Promise<void>;
}

/** A worker for a node where one is named, otherwise directly on the store. */
async function openWorker(
  config: Config,
  {
    log,
    traces,
    upgrades,
    ...options
  }: BuiltinOptions & {
    readonly log: Log;
    readonly traces: Tracing | undefined;
    readonly upgrades: UpdaterLink | undefined;
  },
): Promise<OpenedWorker> {
  const { join: nodes, http, dataDir, store, durability, leaseDuration, pollInterval, once } = config;
  if (isSome(nodes) || sourceOf(config, 'store') === 'default') ownFolder(config);
  if (isSome(nodes)) {
    // Loaded on demand: a worker on a store needs no WebSocket.
    const { nodeAddress, remoteWorker } = await import('../../app/remote/remote-worker.ts');
    // What an older version left open to others: the secret of the worker, and results that wait.
    tighten({ folder: dataDir });
    const urls = nodes.map((url) => nodeAddress(url, config)) as [string, ...string[]];
    const credentials = await credentialsFor(urls, config);
    // Clients of that node choose what runs here, so that code in a task runs only where --allow permits it.
    const allow = config.allow ?? [];
    const worker = remoteWorker(
      { urls, credentials, dataDir, http, log, world: realWorld(traces), vault: vaultOf(config), upgrades },
      { ...options, allow },
    );
    return { worker, name: credentials.name, place: urls.join(', '), close: () => Promise.resolve() };
  }
  // One task is not worth a thread for checkpoints.
  const app = await open(store, {
    durability,
    leaseMs: leaseDuration,
    pollMs: pollInterval,
    housekeeping: !once,
    // A worker for one task looks at its pool once, when it has ended.
    pools: !once,
    // It may run where a pool has started it: without the programs, keys and accounts that start others.
    launchers: 'local',
    ...artifactOptionsOf(config),
    log,
    traces,
  });
  // One that has the secret of the cluster is given credentials; one for a single task ends before it could be.
  if (!once) {
    const { giveCredentials } = await import('../../app/credentials/own-desk.ts');
    await giveCredentials(app, secretSource({ dataDir, ...nodeEnvironment() }), log);
  }
  const close = async (): Promise<void> => {
    await lastLook(app, config.pool);
    await app.close();
  };
  return { worker: builtinWorker(app, options), name: options.name, place: storeName(store), close };
}

/** Loaded on demand: a worker on a store has no node that would tell it to upgrade. */
async function updaterLink(
  { updater: file }: Config,
  calls: Pick<UpdaterLinkOptions, 'warn' | 'upgrade' | 'abandoned'>,
): Promise<UpdaterLink> {
  const { UpdaterLink: Link } = await import('../../app/remote/updater-link.ts');
  return new Link({ version: packageVersion(), file, ...calls });
}

/** For an installer: a code is good for minutes only, and the worker may be started later. */
async function enrolOnly(config: Config): Promise<number> {
  const { join: nodes, code } = config;
  if (!isSome(nodes) || code === undefined) {
    const problem = 'it needs --join, and a code in LEASEHOLD_WORKER_CODE';
    throw fault('INVALID_INPUT', { field: '--enrol', problem });
  }
  ownFolder(config);
  const { nodeAddress } = await import('../../app/remote/remote-worker.ts');
  const urls = nodes.map((url) => nodeAddress(url, config)) as [string, ...string[]];
  const { name } = await credentialsFor(urls, config);
  console.log(config.json ? JSON.stringify({ enrolled: name }) : `This host is the worker ${name}.`);
  return EXIT.fine;
}

/** A worker of a pool has a name of its own at each start: nobody would ever open its vault again. */
function vaultOf({ vault, vaultLevel: demand, ticket, dataDir, code }: Config): VaultWish {
  const folder = vault ?? (ticket === undefined ? join(dataDir, 'vault') : undefined);
  return { folder, demand, fresh: code !== undefined };
}

/** Who ends makes room: without this nobody would start another worker for the tasks that are left. */
async function lastLook(app: App, pool: string | undefined): Promise<void> {
  if (pool === undefined) return;
  try {
    await app.pools.check(pool);
  } catch {
    // The pool is gone, or the store is away: the next process that looks at the pool sees to it.
  }
}

function isSome(urls: readonly string[]): urls is Addresses {
  return urls.length > 0;
}

async function credentialsFor(urls: Addresses, { code, secret, name, dataDir }: Config): Promise<Credentials> {
  const { enrol, kept } = await import('../../app/remote/remote-worker.ts');
  if (code !== undefined) return enrol(urls, code, dataDir);
  if (secret !== undefined) return { name: name ?? defaultWorkerName(), secret };
  const found = kept(urls, dataDir);
  if (found !== undefined) return found;
  throw fault(
    'UNAUTHENTICATED',
    {},
    {
      hint: 'Give a code in LEASEHOLD_WORKER_CODE, or --name NAME with the secret in LEASEHOLD_WORKER_SECRET, as "leasehold workers create" has shown them.',
    },
  );
}

function statusOf(settled: SettledTask | undefined): number {
  if (settled?.outcome === 'lost') return EXIT.leaseLost;
  return settled?.outcome === 'failed' || settled?.outcome === 'retried' ? EXIT.failed : EXIT.fine;
}
