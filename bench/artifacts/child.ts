/** One transfer in a process of its own: `child.ts JOB-AS-JSON` prints how long it took and the most memory that the process has had. */

import { once } from 'node:events';
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { openBlobStore } from '../../src/artifacts/open-blob-store.ts';
import type { Content } from '../../src/core/artifact/artifact.ts';

export interface Job {
  readonly how: 'put' | 'get' | 'signed put';
  /** Of the blob store. */
  readonly place: string;
  readonly key: string;
  readonly content: Content;
  readonly file: string;
  readonly out: string;
}

export interface Measured {
  readonly seconds: number;
  /** Of a put: until the last part had arrived. */
  readonly sent: number;
  /** In MiB; 0: not known. */
  readonly rss: number;
}

const job = JSON.parse(process.argv[2] ?? '') as Job;
const { how, place, key, content, file, out } = job;
/** Those of the server: its module is not loaded here, where memory is measured. */
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const store = await openBlobStore(place, { credentials, reserve: 0 });
const begun = performance.now();
const source = () => createReadStream(file, { highWaterMark: 256 * 1024 });
let sent = 0;
const onProgress = (): void => void (sent = (performance.now() - begun) / 1000);
if (how === 'put') await store.put(key, source(), content, { onProgress });
else if (how === 'get') await pipeline(await store.get(key), createWriteStream(out));
else await signedPut();
const seconds = (performance.now() - begun) / 1000;
const rss = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) / 1024;
process.stdout.write(JSON.stringify({ seconds, sent, rss } satisfies Measured));
await store.close();

async function signedPut(): Promise<void> {
  const signed = await store.sign?.({ way: 'put', key, content, untilMs: 3_600_000 });
  if (signed === undefined) throw new Error('a bucket signs');
  const asked = request(signed.url, { method: signed.method, headers: { ...signed.headers } });
  const answered = once(asked, 'response');
  await pipeline(source(), asked);
  const [answer] = (await answered) as [import('node:http').IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`);
  answer.resume();
}
