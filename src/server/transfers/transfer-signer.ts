import { createHash, createHmac, type KeyObject } from 'node:crypto';
import type { SignedTransfer } from '../../artifacts/blob-store.ts';
import type { Content } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';
import type { ClusterSecret } from '../../operate/cluster-secret.ts';
import { isSame } from '../workers/lease-tokens.ts';

/** Up to a node, or down from it. An address is good for one of them. */
export type Way = 'put' | 'get';

/** A worker in an address: the same for the same name, and no name that a log would show. */
export const shareOf = (worker: string): string => createHash('sha256').update(worker).digest('base64url').slice(0, 16);

/** What such an address says besides the id. */
export interface SignedQuery extends Content {
  /** Calendar time in milliseconds. */
  readonly until: number;
  readonly sig: string;
  /** Whose share of the door it takes; undefined: nobody's own. */
  readonly by?: string | undefined;
}

/** Within this time the transfer must begin. It may take as long as it takes. */
export const GOOD_FOR_MS = 10 * 60_000;

/**
 * Addresses of bytes, for somebody without a token: good for one artifact, one way, these bytes and some minutes. Size and hash are part of the
 * address, so that one that we have not signed is refused without a look into the store. Every node of the cluster accepts it.
 */
export class TransferSigner {
  readonly #key: KeyObject;
  readonly #now: () => number;

  constructor(secret: Pick<ClusterSecret, 'key'>, now: () => number) {
    this.#key = secret.key('transfers');
    this.#now = now;
  }

  /** The URL is a path on the node that is asked. `by`: whose share of its door the transfer takes. */
  sign(way: Way, id: string, { size, sha256 }: Content, by?: string): SignedTransfer {
    const until = Math.floor(this.#now()) + GOOD_FOR_MS;
    const sig = this.#signature(way, id, { size, sha256, until, by });
    const whose = by === undefined ? {} : { by };
    const query = new URLSearchParams({ size: String(size), sha256, until: String(until), ...whose, sig });
    return {
      method: way === 'put' ? 'PUT' : 'GET',
      url: `/api/v1/artifacts/${id}/bytes?${query.toString()}`,
      headers: way === 'put' ? { 'content-type': 'application/octet-stream', 'content-length': String(size) } : {},
    };
  }

  /** Refuses an address that is not ours, or no longer good. Every refusal is the same. */
  check(way: Way, id: string, { size, sha256, until, by, sig }: SignedQuery): void {
    const isOurs = isSame(sig, this.#signature(way, id, { size, sha256, until, by }));
    if (isOurs && this.#now() < until) return;
    throw fault(
      'FORBIDDEN',
      { problem: 'this address is not signed for that, or its time is over' },
      { hint: 'Ask for a new address: one is good for some minutes, for one artifact and one way.' },
    );
  }

  #signature(way: Way, id: string, { size, sha256, until, by = '' }: Omit<SignedQuery, 'sig'>): string {
    // Each part has a fixed form without a line break, and the id comes last: no two of these read alike.
    const text = [way, size, sha256, until, by, id].join('\n');
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
