import { loadConfig } from '../../config/load.ts';
import type { OptionKey } from '../../config/options.ts';
import type { Command } from '../kit/command.ts';
import { runNode } from './run-node.ts';
import { WORKER_OPTIONS } from './worker-options.ts';

export const NODE_OPTIONS: readonly OptionKey[] = [
  'store',
  'dataDir',
  'host',
  'port',
  'token',
  'clusterSecretFile',
  'publicHost',
  'otlpEndpoint',
  'serviceName',
  'tlsCert',
  'tlsKey',
  'insecureBehindProxy',
  'publicUrl',
  'release',
  'maxConnections',
  'maxStreams',
  'pushRate',
  'maxQueued',
  'maxQueuedInAll',
  'triggerRoots',
  'durability',
  'logLevel',
  'leaseDuration',
  'heartbeatInterval',
  'staleThreshold',
  'offlineAfter',
  'taskTimeout',
  'compat',
  'retention',
  'auditRetention',
  'artifactStore',
  'artifactQuota',
  'artifactTaskQuota',
  'artifactRetention',
  'role',
  'cluster',
  'leaderLease',
  'leaderRenew',
  'cleanupInterval',
  'pollInterval',
  'nodeDeadThreshold',
  'worker',
  ...WORKER_OPTIONS,
  'drainTimeout',
  'json',
];

/** `leasehold up`: runs a node on a store until a signal. */
export const up: Command = {
  name: 'up',
  doc: 'Run a node: open the store, do the housekeeping, run tasks in a built-in worker, show live figures',
  options: NODE_OPTIONS,
  examples: [
    { line: 'up', does: 'everything in one process, on a file in ./.leasehold' },
    { line: 'up --store postgres://db/work --name node-2', does: 'one of several nodes on one database' },
    { line: 'up --no-worker --store sqlite:./work.db', does: 'no built-in worker: others do the work' },
  ],
  run: (args) => runNode(loadConfig(up, args)),
};
