import { fault } from '../errors.ts';
import { checkKey } from '../names.ts';

/**
 * What a task may do to others while a joined worker runs it. Each entry is a name, or the beginning of names followed by `*`. Workers that
 * work on the store itself need no permissions: they can write what they like.
 */
export interface Permissions {
  /** Handlers of its children. `*` does not stand for those that run code or reach a network: name them. */
  readonly handlers?: readonly string[] | undefined;
  /** Queues of its children. */
  readonly queues?: readonly string[] | undefined;
  /** Tags and credentials that its children may require of a worker. */
  readonly tags?: readonly string[] | undefined;
  /** Workers that its children may ask for by name. */
  readonly workers?: readonly string[] | undefined;
  /** Limits that its children may take from. */
  readonly limits?: readonly string[] | undefined;
  /** Channels that it may wait on and send signals to. */
  readonly channels?: readonly string[] | undefined;
  /** Channels that it may wait on, and send nothing to. */
  readonly waits?: readonly string[] | undefined;
  /** Its children may take over kept results, keep theirs for others, and share unique keys with tasks of others. */
  readonly reuse?: boolean | undefined;
}

export type PermissionKind = Exclude<keyof Permissions, 'reuse'>;

export const PERMISSION_KINDS = [
  'handlers',
  'queues',
  'tags',
  'workers',
  'limits',
  'channels',
  'waits',
] as const satisfies readonly PermissionKind[];

/** Handlers that run code or reach a network with the rights of the worker that serves them. A `*` never stands for them. */
const GUARDED_HANDLERS: ReadonlySet<string> = new Set(['shell', 'js', 'http']);

const MAX_ENTRIES = 100;

export function isGuarded(handler: string): boolean {
  return GUARDED_HANDLERS.has(handler);
}

/** Permissions in their canonical form: the same ones are the same text. Undefined: they permit nothing. */
export function normalizePermissions(input: unknown, field = 'permissions'): Permissions | undefined {
  const refuse = (problem: string): Error => fault('INVALID_INPUT', { field, problem });
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw refuse('it must be an object');
  const known: readonly string[] = [...PERMISSION_KINDS, 'reuse'];
  const extra = Object.keys(input).find((key) => !known.includes(key));
  if (extra !== undefined) throw refuse(`${JSON.stringify(extra.slice(0, 80))} is none of ${known.join(', ')}`);
  const { reuse, ...lists } = input as Permissions;
  if (reuse !== undefined && typeof reuse !== 'boolean') throw refuse('reuse must be true or false');
  const permissions: { -readonly [K in keyof Permissions]: Permissions[K] } = {};
  for (const kind of PERMISSION_KINDS) {
    const list = lists[kind];
    if (list === undefined) continue;
    const names = checkPatterns(`${field}.${kind}`, list);
    if (names.length > 0) permissions[kind] = names;
  }
  if (reuse === true) permissions.reuse = true;
  return Object.keys(permissions).length === 0 ? undefined : permissions;
}

function checkPatterns(field: string, list: unknown): readonly string[] {
  if (!Array.isArray(list)) throw fault('INVALID_INPUT', { field, problem: 'it must be a list of names' });
  if (list.length > MAX_ENTRIES) {
    throw fault('INVALID_INPUT', { field, problem: `it has more than ${MAX_ENTRIES} entries` });
  }
  return [...new Set(list.map((entry) => checkPattern(field, entry)))].sort();
}

/** A name, or the beginning of names followed by `*`. */
export function checkPattern(field: string, entry: unknown): string {
  const checked = checkKey(field, entry);
  const star = checked.indexOf('*');
  if (star === -1 || star === checked.length - 1) return checked;
  throw fault('INVALID_INPUT', { field, problem: `${JSON.stringify(checked)} has a * that is not at its end` });
}

/** What either of them permits. */
export function joinPermissions(one: Permissions = {}, other: Permissions = {}): Permissions {
  const joined: { -readonly [K in keyof Permissions]: Permissions[K] } = {};
  for (const kind of PERMISSION_KINDS) {
    const entries = [...new Set([...(one[kind] ?? []), ...(other[kind] ?? [])])].sort();
    if (entries.length > 0) joined[kind] = entries;
  }
  if (one.reuse === true || other.reuse === true) joined.reuse = true;
  return joined;
}

/** Whether one of the entries stands for the name. */
export function permits(entries: readonly string[] | undefined, name: string): boolean {
  return (
    entries?.some((entry) => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry)) ?? false
  );
}

/** As `permits`, but a guarded handler has to be named. */
export function permitsHandler(entries: readonly string[] | undefined, handler: string): boolean {
  return isGuarded(handler) ? (entries?.includes(handler) ?? false) : permits(entries, handler);
}
