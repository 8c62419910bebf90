import { fault } from '../errors.ts';
import { checkName } from '../names.ts';
import { normalizePermissions, type Permissions } from './permissions.ts';

/** What was granted to the name of a worker. Queues and slots that are not given set no bound. */
export interface WorkerGrant {
  /** The handlers that it may run. While neither these nor `anyHandler` are given, nobody has decided: what it offers when it first joins is granted then. */
  readonly handlers?: readonly string[] | undefined;
  /** It may run every handler that it offers, also those that it will offer. */
  readonly anyHandler?: true | undefined;
  /** The queues that it may serve. */
  readonly queues?: readonly string[] | undefined;
  /** The most tasks that it may hold at a time, those that it claims ahead included. */
  readonly slots?: number | undefined;
  /** What tasks that it runs may do to others, besides what they may without. */
  readonly permissions?: Permissions | undefined;
  /** Credentials that it says it has by itself count as if they had been given to it. */
  readonly ownCredentials?: boolean | undefined;
}

/** A joined worker has at most this many slots unless its name was given more. */
export const DEFAULT_MAX_SLOTS = 1000;
const MOST_SLOTS = 10_000;
const MAX_NAMES = 1000;

/** A grant in its canonical form. */
export function normalizeGrant(input: WorkerGrant): WorkerGrant {
  const { handlers, queues, slots, permissions, ownCredentials } = input;
  if (ownCredentials !== undefined && typeof ownCredentials !== 'boolean')
    throw fault('INVALID_INPUT', { field: 'ownCredentials', problem: 'it is true or false' });
  if (slots !== undefined && !(Number.isSafeInteger(slots) && slots >= 1 && slots <= MOST_SLOTS)) {
    throw fault('INVALID_INPUT', { field: 'slots', problem: `it is a whole number from 1 to ${MOST_SLOTS}` });
  }
  const permitted = permissions === undefined ? undefined : normalizePermissions(permissions);
  return {
    ...(handlers === undefined ? {} : { handlers: checkNames('handler', handlers) }),
    ...(queues === undefined ? {} : { queues: checkNames('queue', queues) }),
    ...(slots === undefined ? {} : { slots }),
    ...(permitted === undefined ? {} : { permissions: permitted }),
    ...(ownCredentials === undefined ? {} : { ownCredentials }),
  };
}

function checkNames(kind: 'handler' | 'queue', names: unknown): readonly string[] {
  const field = `${kind}s`;
  if (!Array.isArray(names)) throw fault('INVALID_INPUT', { field, problem: 'it must be a list of names' });
  if (names.length > MAX_NAMES) throw fault('INVALID_INPUT', { field, problem: `it has more than ${MAX_NAMES} names` });
  return [...new Set(names.map((name) => checkName(kind, name)))].sort();
}

/** Whether somebody has said which handlers the name may run, or its first join has. */
export function isDecided({ handlers, anyHandler }: WorkerGrant): boolean {
  return handlers !== undefined || anyHandler === true;
}

/** Which of these names were granted; not granted by name: all. */
export function granted(names: readonly string[], grant: readonly string[] | undefined): readonly string[] {
  return grant === undefined ? names : names.filter((name) => grant.includes(name));
}
