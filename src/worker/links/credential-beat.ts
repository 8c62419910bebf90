import { BeatAnswer } from '../../protocol/answers.ts';
import type { CredentialAck, VaultReport } from '../../protocol/credential-envelope.ts';
import type { WorkerState } from '../../protocol/link.ts';
import { CredentialOrders } from './credential-orders.ts';

export interface CredentialBeatOptions {
  readonly vault: VaultReport;
  readonly signer: () => string | undefined;
  /** Calls the heartbeat of the session with this body. */
  readonly call: (body: string) => Promise<unknown>;
  readonly soon: (then: () => void) => void;
}

/** As many as the node takes in one heartbeat. */
const MOST_ACKS = 50;

/**
 * A node cannot call a worker over HTTP: credentials come with the answers to heartbeats, and are acknowledged by the next one, which then
 * leaves at once.
 */
export class CredentialBeat {
  readonly orders: CredentialOrders;
  readonly #options: CredentialBeatOptions;
  #waiting: { readonly ack: CredentialAck; readonly done: () => void; readonly failed: (error: unknown) => void }[] =
    [];
  #planned = false;
  #state: WorkerState = 'online';
  #last: Promise<void> = Promise.resolve();

  constructor(options: CredentialBeatOptions) {
    this.#options = options;
    this.orders = new CredentialOrders(options.signer, (ack) => this.#acknowledge(ack));
  }

  /** Asks for orders. Never rejects: the next heartbeat asks again. */
  beat(state: WorkerState): Promise<void> {
    this.#state = state;
    // A node that signs nothing has none. One after the other, so that no answer is older than the orders that came.
    if (this.orders.signer !== '' && state !== 'offline') this.#last = this.#last.then(() => this.#ask());
    return this.#last;
  }

  #acknowledge(ack: CredentialAck): Promise<void> {
    const sent = new Promise<void>((done, failed) => void this.#waiting.push({ ack, done, failed }));
    if (!this.#planned) {
      this.#planned = true;
      this.#options.soon(() => {
        this.#planned = false;
        void this.beat(this.#state);
      });
    }
    return sent;
  }

  async #ask(): Promise<void> {
    const { vault, call } = this.#options;
    do {
      const batch = this.#waiting.splice(0, MOST_ACKS);
      const { key, level, holds } = vault;
      const acks = batch.length === 0 ? {} : { credential_acks: batch.map(({ ack }) => ack) };
      try {
        const answer = await call(JSON.stringify({ status: this.#state, vault: { key, level, holds }, ...acks }));
        for (const { done } of batch) done();
        for (const order of BeatAnswer.parse(answer).credentials ?? []) this.orders.tell(order);
      } catch (error) {
        for (const { failed } of batch) failed(error);
        return;
      }
    } while (this.#waiting.length > 0);
  }
}
