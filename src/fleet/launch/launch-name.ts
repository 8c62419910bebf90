import { createHash } from 'node:crypto';
import type { LaunchRequest } from '../launcher.ts';

/** A label of DNS has 63 characters at most; the rest is for what a cluster appends. */
const LONGEST_POOL = 30;
const HASH_DIGITS = 20;

/**
 * What a start is called where names must be unique: the same ticket has the same name, so that a start that is repeated is refused there, or
 * found. Letters, digits and "-", at most 61 of them, as the names of Jobs must be.
 */
export function launchName({ pool, ticketId }: Pick<LaunchRequest, 'pool' | 'ticketId'>): string {
  const hash = createHash('sha256').update(`${pool}/${ticketId}`).digest('hex').slice(0, HASH_DIGITS);
  const readable = pool
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST_POOL)
    .replace(/^-+|-+$/g, '');
  return ['leasehold', readable, hash].filter((part) => part !== '').join('-');
}
