import { Client } from '../client/client.ts';
import { NodeOperator } from '../operate/node-operator.ts';
import type { Operator } from '../operate/operator.ts';
import { nodeFetch } from './remote/node-fetch.ts';

export interface OperateNodeOptions {
  readonly url: string;
  readonly token: string | undefined;
  /** It has answered a moment ago. */
  readonly seen: boolean;
  /** Called when a stream has lost its node, and with undefined when it is connected again. */
  readonly onAway?: ((error: Error | undefined) => void) | undefined;
}

const GREETING_MS = 10_000;

/** A node, opened for an operator. It is called once first: an ordinary call would be repeated for a while before it fails. */
export async function operateNode({ seen, ...options }: OperateNodeOptions): Promise<Operator> {
  const client = new Client({ ...options, fetch: nodeFetch });
  if (!seen) await client.call('health', { patienceMs: 0, timeoutMs: GREETING_MS });
  return new NodeOperator(client);
}
