import { DEFAULT_MAX_SLOTS, PERMISSION_KINDS } from '../../operate/calls/worker-calls.ts';
import type { WorkerSettingView } from '../../operate/views.ts';
import { safeLine } from '../display/safe.ts';

type Grant = NonNullable<WorkerSettingView['grant']>;

const UNDECIDED = 'those that it offers when it first joins';

/** What a name may run: each bound and its words. A worker on the store itself needs no grant, and is there without one. */
export function grantRows(
  { handlers, anyHandler, queues, slots }: Grant,
  { isThere }: { readonly isThere: boolean },
): readonly (readonly [bound: string, words: string])[] {
  const notNamed = anyHandler || isThere ? 'any that it offers' : UNDECIDED;
  return [
    ['handlers', handlers === undefined ? notNamed : listed(handlers)],
    ['queues', queues === undefined ? 'all' : listed(queues)],
    ['slots', `at most ${slots ?? DEFAULT_MAX_SLOTS}`],
  ];
}

/** What its tasks may do to others: each kind and its entries; empty: nothing was permitted. */
export function permissionRows({ permissions = {} }: Grant): readonly (readonly [kind: string, words: string])[] {
  const rows = PERMISSION_KINDS.flatMap((kind) => {
    const entries = permissions[kind] ?? [];
    return entries.length === 0 ? [] : [[kind, listed(entries)] as const];
  });
  return permissions.reuse === true ? [...rows, ['reuse', 'kept results and unique keys of others']] : rows;
}

/** A grant in a few words, for a line among others; empty: it sets no bound. */
export function grantWords(grant: Grant): string {
  const { handlers, anyHandler, queues, slots } = grant;
  const permitted = permissionRows(grant).map(([kind]) => kind);
  return [
    handlers === undefined ? (anyHandler ? 'any handler' : '') : `handlers ${listed(handlers)}`,
    queues === undefined ? '' : `queues ${listed(queues)}`,
    slots === undefined ? '' : `at most ${slots} slots`,
    permitted.length === 0 ? '' : `permits ${permitted.join(', ')}`,
  ]
    .filter((words) => words !== '')
    .join('; ');
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : safeLine(names.join(', '));
}
