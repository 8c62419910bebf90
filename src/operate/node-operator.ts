import type { CallArgs, CallInput, Client } from '../client/client.ts';
import type { AnswerOf } from '../protocol/routes.ts';
import { verified } from '../protocol/verified-bytes.ts';
import type { OperatedName } from './operations/operations.ts';
import type { EventsOptions, FeedView, Operator, WantedBytes } from './operator.ts';
import type { EventView, LogLineView } from './views.ts';

/** A node filters events by so many tasks; with more it sends all events. */
const MOST_NAMED = 50;

/** The operator of a node: every call is the route of that name, and streams survive a restart of the node. */
export class NodeOperator implements Operator {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  call<N extends OperatedName>(name: N, ...ask: CallArgs<CallInput<N>>): Promise<AnswerOf<N>> {
    return this.#client.call(name, ...ask);
  }

  async *events({ after, tasks = [], run, signal }: EventsOptions): AsyncGenerator<FeedView> {
    const query = { ...(tasks.length <= MOST_NAMED ? { task: tasks } : {}), ...(run === undefined ? {} : { run }) };
    const ask = { query, last: String(after), signal };
    for await (const { event, data } of this.#client.stream('streamEvents', ask)) {
      if (event === 'reset') yield { kind: 'reset', last: (JSON.parse(data) as { readonly last: number }).last };
      else yield { kind: 'event', event: JSON.parse(data) as EventView };
    }
  }

  async *lines(id: string, { signal }: { readonly signal?: AbortSignal | undefined }): AsyncGenerator<LogLineView> {
    for await (const { data } of this.#client.stream('readLog', { params: { id }, signal })) {
      yield JSON.parse(data) as LogLineView;
    }
  }

  bytes(
    artifact: WantedBytes,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Uint8Array> {
    return verified(this.#client.bytes(artifact, options), artifact);
  }

  async close(): Promise<void> {
    this.#client.close();
  }
}
