import { fault } from '../../core/errors.ts';
import { DEFAULT_MAX_SLOTS, granted, isDecided } from '../../core/placement/worker-grant.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { WorkerSetting } from './worker-settings.ts';

/** What a worker of another host says of itself when it comes. */
export interface Claimed {
  readonly tags: readonly string[];
  readonly handlers: readonly string[];
  readonly queues?: readonly string[] | undefined;
  readonly slots: number;
  readonly priority?: number | undefined;
}

/** Above this many, a command that names them all helps nobody. */
const MOST_NAMED = 12;

/** A worker of another host may have less than its name was given, never more. */
export function requireGiven(name: string, claimed: Claimed, { tags, priority, grant }: WorkerSetting): void {
  const { handlers, queues, slots = DEFAULT_MAX_SLOTS } = grant;
  const missing = claimed.tags.filter((one) => !tags.includes(one));
  if (missing.length > 0) {
    throw refuse(name, named('tag', missing), `tag ${shellWord(name)} ${flags('add', missing)}`);
  }
  requireGranted(name, 'handler', claimed.handlers, handlers);
  requireGranted(name, 'queue', claimed.queues ?? [], queues);
  if (claimed.slots > slots) {
    throw refuse(
      name,
      { words: `${claimed.slots} slots (it has ${slots})`, count: claimed.slots },
      `grant ${shellWord(name)} --slots ${claimed.slots}`,
    );
  }
  // A priority that was given replaces the worker's own.
  if (priority === undefined && claimed.priority !== undefined && claimed.priority > 0) {
    throw refuse(
      name,
      { words: `the priority ${claimed.priority}`, count: 1 },
      `priority ${shellWord(name)} ${claimed.priority}`,
    );
  }
}

/**
 * The handlers that a worker gets tasks of. It may offer more than its name was granted, as the built-in ones: these are left out. A worker
 * that is left with none has no business here.
 */
export function grantedHandlers(handlers: readonly string[], { grant }: WorkerSetting): readonly string[] {
  const kept = granted(handlers, grant.handlers);
  return kept.length === 0 ? handlers : kept;
}

/** Every `leasehold worker` offers these, so nobody misses them. */
const EVERYWHERE: ReadonlySet<string> = new Set(['aggregate', 'echo', 'http']);

/** The handlers that a worker offers and does not get: it should say so, for its owner may have added them just now. */
export function leftOut(offered: readonly string[], kept: readonly string[]): readonly string[] {
  return offered.filter((handler) => !kept.includes(handler) && !EVERYWHERE.has(handler));
}

/** An agent that does not say what it runs is given tasks of all handlers, or of those granted: somebody must have chosen which. */
export function requireDecided(name: string, { grant }: WorkerSetting): void {
  if (isDecided(grant)) return;
  throw fault(
    'FORBIDDEN',
    { problem: `nobody has said which handlers ${name} may run, and an agent of its kind does not say it` },
    { hint: `"leasehold workers grant ${shellWord(name)} --handler NAME" or "--any" says it.` },
  );
}

/** A grant replaces the one before. So the command names what was granted already, too. */
function requireGranted(
  name: string,
  kind: 'handler' | 'queue',
  claimed: readonly string[],
  grant: readonly string[] | undefined,
): void {
  const missing = grant === undefined ? [] : claimed.filter((one) => !grant.includes(one));
  if (missing.length > 0) {
    const all = [...(grant ?? []), ...missing];
    throw refuse(name, named(kind, missing), `grant ${shellWord(name)} ${flags(kind, all)}`);
  }
}

interface Missing {
  readonly words: string;
  readonly count: number;
}

function named(kind: string, names: readonly string[]): Missing {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  const words = `the ${kind}${names.length === 1 ? '' : 's'} ${names.slice(0, MOST_NAMED).join(', ')}${more}`;
  return { words, count: names.length };
}

function flags(flag: string, values: readonly string[]): string {
  const words = values.slice(0, MOST_NAMED).map((value) => `--${flag} ${shellWord(value)}`);
  return [...words, ...(values.length > MOST_NAMED ? ['…'] : [])].join(' ');
}

function refuse(name: string, { words, count }: Missing, command: string): Error {
  return fault(
    'FORBIDDEN',
    { problem: `${words} ${count === 1 ? 'was' : 'were'} not given to the worker ${name}` },
    { hint: `"leasehold workers ${command}" gives ${count === 1 ? 'it' : 'them'}.` },
  );
}
