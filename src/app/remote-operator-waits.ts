import type { Client } from '../client/client.ts';
import type { ApprovalView, DecisionView, SignalView } from '../operate/views.ts';
import type { Decision } from '../worker/memory/remembering.ts';
import type { OperatingWaits } from './operating.ts';

/** What a node shows of a list at most. */
const MOST = 500;

/** Tasks of a node that wait for a word from outside. */
export class RemoteWaits implements OperatingWaits {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  signal(channel: string, body: unknown, { broadcast }: { readonly broadcast: boolean }): Promise<SignalView> {
    return this.#client.call('sendSignal', { body: { channel, body, broadcast } });
  }

  async approvals(limit: number): Promise<readonly ApprovalView[]> {
    const query = { limit: Math.min(MOST, limit) };
    return (await this.#client.call('listApprovals', { query })).approvals as readonly ApprovalView[];
  }

  async decide(id: string, { by, ...decision }: Decision): Promise<DecisionView> {
    return (await this.#client.call('decideApproval', { params: { id }, body: decision, by })) as DecisionView;
  }
}
