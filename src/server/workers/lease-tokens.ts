import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import type { Lease } from '../../core/task/lease.ts';
import type { LeaseProof } from '../../protocol/frames.ts';

/** The holder that tokens are made out to. No name has a slash. */
export function holderOf(name: string, incarnation: string): string {
  return `${name}/${incarnation}`;
}

/**
 * The token that proves a lease over the wire. It is computed from the key of the cluster, so that every node can check it
 * and nothing is stored. Attempt numbers can be guessed; the token keeps a worker from speaking for the attempt of another.
 */
export class LeaseTokens {
  /** A key object: with the bytes each token takes 42 µs instead of 9. */
  readonly #key: KeyObject;

  constructor(clusterKey: string) {
    this.#key = createSecretKey(createHmac('sha256', clusterKey).update('leases').digest());
  }

  /** `holder`: the worker that the lease was granted to. */
  of({ task, attempt }: Lease, holder: string): string {
    return this.#digest(task, attempt, holder).toString('base64url');
  }

  proves({ task, attempt, token }: LeaseProof, holder: string): boolean {
    // Compared as texts: several texts decode to the same bytes.
    const given = Buffer.from(token);
    const right = Buffer.from(this.of({ task, attempt }, holder));
    return given.length === right.length && timingSafeEqual(given, right);
  }

  check(proof: LeaseProof, holder: string): Lease {
    const { task, attempt } = proof;
    if (this.proves(proof, holder)) return { task, attempt };
    throw fault(
      'LEASE_LOST',
      { task, attempt },
      { hint: 'The token does not belong to this lease: stop work on this task.' },
    );
  }

  #digest(task: number, attempt: number, holder: string): Buffer {
    return createHmac('sha256', this.#key).update(`${task}/${attempt}/${holder}`).digest().subarray(0, 16);
  }
}
