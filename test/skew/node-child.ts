/** A node without a built-in worker. It says where it answers and which token rules it. */
import { serve } from '../../src/app/serve.ts';
import { givenOptions, OUTPUT, say, stopRequested } from './program.ts';

export interface NodeOptions {
  readonly store: string;
  /** 0: any free one. */
  readonly port: number;
  readonly token: string;
  readonly leaseMs: number;
}

const { store, port, token, leaseMs } = givenOptions<NodeOptions>();
/** A node of 200b8487 has no such option. */
const secret = { place: 'the test', read: (): string => `lh_cls_${'t'.repeat(43)}` };
const stopping = stopRequested();
const node = await serve({
  store,
  host: '127.0.0.1',
  port,
  version: '0.0.0-skew',
  adminToken: () => token,
  secret,
  leaseMs,
  // The fixture has no web pages.
  pages: () => undefined,
  log: OUTPUT,
});
say({ address: node.address, token });
await stopping;
await node.close();
