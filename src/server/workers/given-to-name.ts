import { fault } from '../../core/errors.ts';
import { DEFAULT_MAX_SLOTS } from '../../core/placement/worker-grant.ts';
import type { WorkerSetting } from './worker-settings.ts';

/** What a worker of another host says of itself when it comes. */
export interface Claimed {
  readonly tags: readonly string[];
  readonly handlers: readonly string[];
  readonly queues?: readonly string[] | undefined;
  readonly slots: number;
  readonly priority?: number | undefined;
}

/** A worker of another host may have less than its name was given, never more. */
export function requireGiven(name: string, claimed: Claimed, { tags, priority, grant }: WorkerSetting): void {
  const { handlers, queues, slots = DEFAULT_MAX_SLOTS } = grant;
  const tag = claimed.tags.find((one) => !tags.includes(one));
  if (tag !== undefined) throw refuse(name, `the tag ${tag}`, `tag ${name} --add ${tag}`);
  const handler = handlers && claimed.handlers.find((one) => !handlers.includes(one));
  if (handler !== undefined) throw refuse(name, `the handler ${handler}`, `grant ${name} --handler ${handler}`);
  const queue = queues && claimed.queues?.find((one) => !queues.includes(one));
  if (queue !== undefined) throw refuse(name, `the queue ${queue}`, `grant ${name} --queue ${queue}`);
  if (claimed.slots > slots) {
    throw refuse(name, `${claimed.slots} slots (it has ${slots})`, `grant ${name} --slots ${claimed.slots}`);
  }
  // A priority that was given replaces the worker's own.
  if (priority === undefined && claimed.priority !== undefined && claimed.priority > 0) {
    throw refuse(name, `the priority ${claimed.priority}`, `priority ${name} ${claimed.priority}`);
  }
}

function refuse(name: string, what: string, command: string): Error {
  return fault(
    'FORBIDDEN',
    { problem: `${what} was not given to the worker ${name}` },
    { hint: `"leasehold workers ${command}" gives it.` },
  );
}
