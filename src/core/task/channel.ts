import { fault } from '../errors.ts';
import { numberIn } from '../ids.ts';
import { checkKey } from '../names.ts';

/** Channels that begin so are the engine's own. Nobody signals them from outside. */
const APPROVAL = 'approval:';
const OWN = /^(?:approval:(\d{1,15})|(task_[0-9a-f-]{36})):/;
const RESERVED = [APPROVAL, 'leasehold:'] as const;

/** The channel that a decision comes by. A task has one for each of its approvals, and no other task can wait on it. */
export function approvalChannel(task: number, key: string): string {
  return `${APPROVAL}${task}:${key}`;
}

export function isReserved(channel: string): boolean {
  return RESERVED.some((prefix) => channel.startsWith(prefix));
}

/** The task whose own channel it may be: that of one of its approvals, or one that begins with its id and a colon. */
export function ownerOf(channel: string): number | undefined {
  const [, task, id] = OWN.exec(channel) ?? [];
  if (task !== undefined) return Number(task);
  return id === undefined ? undefined : numberIn('task_', id);
}

/** A channel that anybody may name. */
export function checkChannel(channel: unknown): string {
  const checked = checkKey('channel', channel);
  if (!isReserved(checked)) return checked;
  const isApproval = checked.startsWith(APPROVAL);
  throw fault(
    'INVALID_INPUT',
    { field: 'channel', problem: `channels that begin with ${RESERVED.join(' or ')} are the engine's own` },
    {
      hint: isApproval
        ? 'Decide it instead: "leasehold approvals" lists what waits for a decision.'
        : 'Choose another name.',
    },
  );
}
