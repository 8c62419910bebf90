import type { BuiltinOptions } from '../../app/builtin-worker.ts';
import type { Config, OptionKey } from '../../config/options.ts';
import { readTrustedKeys } from '../../operate/signing.ts';
import { readKeyFile } from '../keys/key-file.ts';

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
  'loopRoots',
  'workspaceFolder',
  'gitHosts',
  'gitProtocols',
  'gitMaxFetch',
  'gitMaxTree',
  'gitTimeout',
  'requireSigned',
  'allowCommand',
  'artifactPatience',
  'artifactHosts',
];

/** `unnamed` is the default name. */
export function workerOptions(config: Config, unnamed: string): BuiltinOptions {
  const { name = unnamed, slots, tag, workerPriority, queue, handlers, allow, allowHttp, allowEnv, host } = config;
  const { loopRoots, artifactPatience, artifactHosts } = config;
  const demands = demandsOf(config);
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
    loopRoots: rootsIn(loopRoots),
    workspaces: workspacesOf(config),
    root: process.cwd(),
    artifactPatienceMs: artifactPatience,
    ...(artifactHosts.length === 0 ? {} : { artifactHosts }),
    ...(demands === undefined ? {} : { demands }),
  };
}

function workspacesOf({
  workspaceFolder: folder,
  gitHosts,
  gitProtocols: protocols,
  gitMaxFetch: maxFetch,
  gitMaxTree: maxTree,
  gitTimeout: timeout,
}: Config): NonNullable<BuiltinOptions['workspaces']> {
  return {
    folder,
    protocols,
    // Who names no host lets nobody find it for a repository.
    offered: gitHosts.length > 0,
    ...(gitHosts.length === 0 ? {} : { hosts: gitHosts }),
    ...(maxFetch === undefined ? {} : { maxFetch }),
    ...(maxTree === undefined ? {} : { maxTree }),
    ...(timeout === undefined ? {} : { timeout }),
  };
}

function demandsOf({ requireSigned: file, allowCommand: commands }: Config): BuiltinOptions['demands'] {
  if (file === undefined && commands.length === 0) return undefined;
  return {
    ...(file === undefined ? {} : { keys: readTrustedKeys(file, readKeyFile(file)) }),
    ...(commands.length === 0 ? {} : { commands }),
  };
}

/** The last of a name counts. */
export function rootsIn(roots: Config['loopRoots']): Readonly<Record<string, string>> {
  return Object.fromEntries(roots.map(({ name, folder }) => [name, folder]));
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
