import { fault } from '../errors.ts';
import { checkKey } from '../names.ts';

/** Channels that begin so are the engine's own. Nobody signals them from outside. */
const APPROVAL = 'approval:';
const RESERVED = [APPROVAL, 'leasehold:'] as const;

/** The channel that a decision comes by. A task has one for each of its approvals, and no other task can wait on it. */
export function approvalChannel(task: number, key: string): string {
  return `${APPROVAL}${task}:${key}`;
}

export function isReserved(channel: string): boolean {
  return RESERVED.some((prefix) => channel.startsWith(prefix));
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
