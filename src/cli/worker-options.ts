import type { BuiltinOptions } from '../app/builtin-worker.ts';
import type { Config, OptionKey } from '../config/options.ts';

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

export function workerOptions(config: Config): BuiltinOptions {
  const { name, slots, tag, workerPriority, queue, handlers, allow, allowHttp } = config;
  return {
    name,
    slots,
    tags: tag,
    priority: workerPriority,
    queues: queue,
    handlers,
    // Whoever can push to this node is on this machine: other addresses are refused until there are tokens.
    allow: allow ?? ['shell', 'js'],
    allowHttp,
    root: process.cwd(),
  };
}
