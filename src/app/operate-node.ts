import { Client } from '../client/client.ts';
import { NodeOperator } from '../operate/node-operator.ts';
import type { Operator } from '../operate/operator.ts';

export interface OperateNodeOptions {
  readonly url: string;
  readonly token: string | undefined;
  /** It has answered a moment ago. */
  readonly seen: boolean;
  /** Told when a stream has lost its node, and with nothing when it has it again. */
  readonly onAway?: ((error: Error | undefined) => void) | undefined;
}

const GREETING_MS = 10_000;

/** Asks a node what an operator asks a store. That it is there is seen first: a call would try again for a while. */
export async function operateNode({ seen, ...options }: OperateNodeOptions): Promise<Operator> {
  const client = new Client(options);
  if (!seen) await client.call('health', { patienceMs: 0, timeoutMs: GREETING_MS });
  return new NodeOperator(client);
}
