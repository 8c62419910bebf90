import type { CredentialAck, CredentialFeed, CredentialOrder } from '../../protocol/credential-envelope.ts';

/** Orders that came before anybody listened. The node sends again what was not acknowledged. */
const MAX_EARLY = 2000;

/** The credentials that come over a link: orders for whoever listens, and acknowledgements for the node. */
export class CredentialOrders implements CredentialFeed {
  readonly #signer: () => string | undefined;
  readonly #send: (ack: CredentialAck) => Promise<unknown>;
  readonly #listeners = new Set<(order: CredentialOrder) => void>();
  #early: CredentialOrder[] = [];

  /** `signer`: that of the node in use. */
  constructor(signer: () => string | undefined, send: (ack: CredentialAck) => Promise<unknown>) {
    this.#signer = signer;
    this.#send = send;
  }

  /** A node that tells none signs nothing that a worker believes. */
  get signer(): string {
    return this.#signer() ?? '';
  }

  subscribe(listener: (order: CredentialOrder) => void): () => void {
    this.#listeners.add(listener);
    for (const order of this.#early.splice(0)) listener(order);
    return () => this.#listeners.delete(listener);
  }

  async ack(ack: CredentialAck): Promise<void> {
    await this.#send(ack);
  }

  tell(order: CredentialOrder): void {
    if (this.#listeners.size > 0) for (const listener of this.#listeners) listener(order);
    else if (this.#early.length < MAX_EARLY) this.#early.push(order);
  }
}
