import { createHash, randomBytes } from 'node:crypto';

/** A ticket as it is made: its text for the worker, id and hash for the store. */
export interface MadeTicket {
  readonly id: string;
  readonly text: string;
  readonly hash: string;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** 80 bits of id and 192 of secret: an id is shown to people, and says nothing of the rest. */
export function makeTicket(): MadeTicket {
  // 36 divides 252: a byte above it is drawn again.
  const letters: string[] = [];
  while (letters.length < 16)
    for (const byte of randomBytes(16))
      if (byte < 252 && letters.length < 16) letters.push(LETTERS[byte % 36] as string);
  const id = `tk-${letters.join('')}`;
  const text = `${id}.${randomBytes(24).toString('base64url')}`;
  return { id, text, hash: createHash('sha256').update(text).digest('hex') };
}

export function makeTickets(count: number): readonly MadeTicket[] {
  return Array.from({ length: count }, makeTicket);
}
