import { Client } from '../../client/client.ts';
import { nodeFetch } from '../remote/node-fetch.ts';

const GREETING_MS = 10_000;

/** The key that the node says its release is signed by: what an operator who trusts it hands to other hosts. Undefined: it is not signed. */
export async function releaseKeyAt(url: string): Promise<string | undefined> {
  const client = new Client({ url, fetch: nodeFetch });
  try {
    return (await client.call('releaseManifest', { patienceMs: 0, timeoutMs: GREETING_MS })).key;
  } finally {
    client.close();
  }
}
