import type { BuiltinOptions } from '../../app/builtin-worker.ts';
import type { Config, OptionKey } from '../../config/options.ts';

/** The options of a worker with the built-in handlers, in a node or alone. */
export const WORKER_OPTIONS: readonly OptionKey[] = [
  'name',
  'slots',
  'tag',
  'workerPriority',
  'queue',
  'handlers',
  'allow',
  'allowHttp',
  'allowEnv',
];

/** `unnamed` is the default name. */
export function workerOptions(config: Config, unnamed: string): BuiltinOptions {
  const { name = unnamed, slots, tag, workerPriority, queue, handlers, allow, allowHttp, allowEnv, host } = config;
  return {
    name,
    slots,
    tags: tag,
    priority: workerPriority,
    queues: queue,
    handlers,
    // On loopback every client is on this host. Clients from elsewhere can only push tasks whose code is already here.
    allow: allow ?? (isLocal(host) ? ['shell', 'js'] : []),
    allowHttp,
    allowEnv,
    root: process.cwd(),
  };
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
