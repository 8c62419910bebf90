import type { LauncherHost, LaunchRequest } from '../launcher.ts';
import { launchName } from './launch-name.ts';
import type { Values } from './template.ts';

/** What may be in arguments, which others on a host see. */
export const OPEN = ['pool', 'name', 'ticket_id', 'expires_at', 'args', 'leasehold'] as const;
/** What may be in an environment, on standard input or in a body. */
export const CLOSED = [...OPEN, 'ticket'] as const;

export function valuesOf(request: LaunchRequest, { leasehold }: Pick<LauncherHost, 'leasehold'>): Values {
  return {
    pool: request.pool,
    name: launchName(request),
    ticket_id: request.ticketId,
    expires_at: new Date(request.expiresAt).toISOString(),
    args: request.args,
    leasehold,
    ticket: request.ticket,
  };
}
