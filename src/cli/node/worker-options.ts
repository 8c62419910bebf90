import type { BuiltinOptions } from '../../app/builtin-worker.ts';
import type { Config, OptionKey } from '../../config/options.ts';

/** The settings of a worker with the built-in handlers, wherever it runs. */
export const WORKER_OPTIONS: readonly OptionKey[] = [
  'name',
  'slots',
  'tag',
  'workerPriority',
  'queue',
  'handlers',
  'allow',
  'allowHttp',
];

/** `unnamed`: what it is called when nobody says so. */
export function workerOptions(config: Config, unnamed: string): BuiltinOptions {
  const { name = unnamed, slots, tag, workerPriority, queue, handlers, allow, allowHttp, host } = config;
  return {
    name,
    slots,
    tags: tag,
    priority: workerPriority,
    queues: queue,
    handlers,
    // On loopback whoever can push is on this host; from elsewhere come only tasks whose code is here already.
    allow: allow ?? (isLocal(host) ? ['shell', 'js'] : []),
    allowHttp,
    root: process.cwd(),
  };
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
