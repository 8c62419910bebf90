/** What a worker of a program allows to workspaces. */
import { resolve } from 'node:path';
import { environment } from '../../config/environment.ts';
import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { REPO_PROTOCOLS, type RepoProtocol } from '../../core/workspace/repo-address.ts';
import { checkOptions, whole } from '../../engine/check.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import { rootsOf } from '../../worker/loop/loop-host.ts';
import type { WorkspaceSettings } from '../../worker/workspace/workspace-settings.ts';

export interface WorkspaceOptions {
  /** Where they are made; workers of one host may share it. Default `.leasehold/workspaces`. */
  readonly folder?: string;
  /** Folders by the names that tasks have for them: `{ main: '/srv/work' }`. */
  readonly roots?: Readonly<Record<string, string>>;
  /** The only hosts that repositories are fetched from; default any. */
  readonly hosts?: readonly string[];
  /** Default `https` and `ssh`. `http` only from this host, unless `hosts` names the others. */
  readonly protocols?: readonly RepoProtocol[];
  /** What one fetch may bring, in bytes; default 2 GiB. */
  readonly maxFetch?: number;
  /** What the files of one checkout may take, in bytes; default 4 GiB. */
  readonly maxTree?: number;
  /** How long one fetch or push may take; default 10 min. */
  readonly timeout?: number | string;
  /** Whether it carries the tags by which tasks find it; default true. */
  readonly offered?: boolean;
}

const KNOWN: ReadonlySet<string> = new Set([
  'folder',
  'roots',
  'hosts',
  'protocols',
  'maxFetch',
  'maxTree',
  'timeout',
  'offered',
] satisfies (keyof WorkspaceOptions)[]);

/** Undefined: none of its tasks says that it needs one, and nobody has said that it makes some. */
export function workspaceSettings({
  workspaces,
  tasks,
}: {
  readonly workspaces?: WorkspaceOptions | undefined;
  readonly tasks: readonly AnyTask[];
}): WorkspaceSettings | undefined {
  // Those that come with leasehold take one where there is one.
  const asked = tasks.some(({ workspace, givesWay }) => workspace !== undefined && givesWay !== true);
  if (workspaces === undefined && !asked) return undefined;
  const given = workspaces ?? {};
  checkOptions('workspaces of a worker', given, KNOWN);
  const { folder = '.leasehold/workspaces', roots = {}, hosts, protocols } = given;
  if (typeof folder !== 'string' || folder === '') throw refuse('folder must be the path of a folder');
  if (hosts !== undefined && !isTexts(hosts)) throw refuse('hosts must be a list of names');
  if (protocols !== undefined && !(isTexts(protocols) && protocols.every((one) => REPO_PROTOCOLS.includes(one))))
    throw refuse(`protocols must be a list of ${REPO_PROTOCOLS.join(', ')}`);
  return {
    folder: resolve(folder),
    roots: rootsOf(roots),
    hosts,
    protocols,
    caps: capsOf(given),
    path: environment().PATH,
    untagged: given.offered === false,
  };
}

function capsOf({ maxFetch, maxTree, timeout }: WorkspaceOptions): NonNullable<WorkspaceSettings['caps']> {
  const bytes = (name: string, value: number): number => whole(name, value, 1, Number.MAX_SAFE_INTEGER);
  return {
    ...(maxFetch === undefined ? {} : { maxBytes: bytes('maxFetch', maxFetch) }),
    ...(maxTree === undefined ? {} : { maxTreeBytes: bytes('maxTree', maxTree) }),
    ...(timeout === undefined ? {} : { fetchMs: parseDuration(timeout, 'timeout of workspaces') }),
  };
}

const isTexts = (value: readonly unknown[]): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '');

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: 'workspaces', problem });
}
