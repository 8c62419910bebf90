import { fault } from '../errors.ts';

/**
 * The right of one worker to register in a pool, once, until a time. Its text is a public id and a secret; a store keeps the id and the
 * hash of the whole text.
 */
export type TicketState = (typeof TICKET_STATES)[number];

/**
 * `open`: its worker is starting. `used`: its worker has registered. `failed`: its launcher said that nothing was started. `expired`: nobody
 * has come with it in time. Stored by position.
 */
export const TICKET_STATES = ['open', 'used', 'failed', 'expired'] as const;

/** What a store knows of a ticket that somebody presents. */
export interface TicketFacts {
  readonly state: TicketState;
  /** In the time of `now`. */
  readonly expiresAt: number;
}

/** The id in the text of a ticket. What has another form is refused. */
export function ticketId(text: string): string {
  const id = /^(tk-[a-z0-9]{16})\.[A-Za-z0-9_-]{32}$/.exec(text)?.[1];
  if (id === undefined) throw refused('it is not the text of a ticket');
  return id;
}

/** Refuses a ticket that is unknown, used or too late. */
export function checkTicket(facts: TicketFacts | undefined, now: number): asserts facts is TicketFacts {
  if (facts === undefined) throw refused('nobody has reserved it, or its pool is gone');
  if (facts.state === 'used') throw refused('another worker has used it');
  if (facts.state === 'failed') throw refused('its launcher said that nothing was started');
  if (facts.state === 'expired' || facts.expiresAt <= now) throw refused('its worker came too late');
}

function refused(problem: string): Error {
  return fault('TICKET_REFUSED', { problem });
}
