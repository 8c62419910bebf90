import type { Readable } from 'node:stream';
import type { Content } from '../../core/artifact/artifact.ts';
import { fault } from '../../core/errors.ts';
import type { BlobCall } from '../blob-store.ts';
import { checkedBytes } from '../checked-bytes.ts';
import { element, refusal } from './answer.ts';
import type { Connection } from './connection.ts';
import { type Part, sendParts } from './parts.ts';
import { retrying } from './retry.ts';

const MIB = 1024 * 1024;
const PART_BYTES = 8 * MIB;
const MOST_PARTS = 10_000;
const LARGEST = 5 * 1024 * 1024 * MIB;
/** Parts that travel, and one that is being filled, fit into this much; one alone may be larger. */
const MEMORY = 24 * MIB;
/** Putting the parts together takes a server its time, in which it may say nothing. */
const COMPLETE_PATIENCE = 10;
const ABANDON_MS = 20_000;

/**
 * Sends a stream as one object. Its bytes are held back, a part of them at a time, until that part has arrived, so that a part can be sent again.
 * The object appears when the server is asked to put it together, or with the only part, and nobody asks before the hash of all bytes is right.
 */
export async function upload(
  connection: Connection,
  key: string,
  bytes: Readable,
  put: { readonly content: Content; readonly call: BlobCall },
): Promise<void> {
  const { content, call } = put;
  if (content.size > LARGEST) throw fault('TOO_LARGE', { field: 'artifact', maxBytes: LARGEST });
  const checked = checkedBytes(bytes, content, call.signal);
  if (content.size <= PART_BYTES) return await uploadWhole(connection, key, checked, put);
  await uploadParts(connection, key, checked, put);
}

interface Put {
  readonly content: Content;
  readonly call: BlobCall;
}

async function uploadWhole(
  connection: Connection,
  key: string,
  checked: AsyncIterable<Uint8Array>,
  { content, call }: Put,
): Promise<void> {
  const body = Buffer.allocUnsafeSlow(content.size);
  let filled = 0;
  for await (const chunk of checked) {
    body.set(chunk, filled);
    filled += chunk.length;
  }
  await connection.call({
    doing: 'storing a blob',
    method: 'PUT',
    key,
    body,
    headers: { 'x-amz-content-sha256': content.sha256 },
    signal: call.signal,
  });
  call.onProgress?.(content.size);
}

async function uploadParts(
  connection: Connection,
  key: string,
  checked: AsyncIterable<Uint8Array>,
  { content, call }: Put,
): Promise<void> {
  const { text } = await connection.call({
    doing: 'beginning an upload',
    method: 'POST',
    key,
    query: { uploads: '' },
    signal: call.signal,
  });
  const uploadId = element(text, 'UploadId');
  if (uploadId === undefined)
    throw fault('ARTIFACT_FAILED', { problem: 'what answers does not speak S3: it names no upload' });
  try {
    let total = 0;
    const parts = await sendParts(checked, partPlan(content.size), async ({ number, body, signal }) => {
      const answer = await connection.call({
        doing: `sending part ${number}`,
        method: 'PUT',
        key,
        query: { partNumber: String(number), uploadId },
        body,
        signal: call.signal === undefined ? signal : AbortSignal.any([call.signal, signal]),
      });
      call.onProgress?.((total += body.length));
      const { etag } = answer.headers;
      if (etag === undefined || !/^"?[\w+/=:.-]{1,200}"?$/.test(etag))
        throw fault('ARTIFACT_FAILED', { problem: 'what answers does not speak S3: it gives a part no tag' });
      return etag;
    });
    await complete(connection, key, uploadId, { parts, content, call });
  } catch (error) {
    await abandon(connection, key, uploadId);
    throw error;
  }
}

/** How large parts are, and how many buffers hold them: what travels and what is being filled. */
export function partPlan(size: number): { readonly partBytes: number; readonly buffers: number } {
  const needed = Math.ceil(size / MOST_PARTS / MIB) * MIB;
  const partBytes = Math.max(PART_BYTES, needed);
  return { partBytes, buffers: Math.max(1, Math.floor(MEMORY / partBytes)) };
}

async function complete(
  connection: Connection,
  key: string,
  uploadId: string,
  { parts, content, call }: Put & { readonly parts: readonly Part[] },
): Promise<void> {
  const doing = 'completing an upload';
  const list = parts.map(
    ({ number, etag }) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>${etag.replaceAll('"', '&quot;')}</ETag></Part>`,
  );
  const request = {
    doing,
    method: 'POST',
    key,
    query: { uploadId },
    headers: { 'content-type': 'application/xml' },
    body: Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`),
    signal: call.signal,
    silenceMs: connection.idleMs * COMPLETE_PATIENCE,
  } as const;
  await retrying(connection.retry, request, async () => {
    const answer = await connection.call(request, [404]);
    // A server that takes long says 200 first, and then perhaps an error.
    if (answer.status !== 404 && element(answer.text, 'Code') === undefined) return;
    // Already put together by a try whose answer was lost.
    if (answer.status === 404 && (await sizeOf(connection, key, call.signal)) === content.size) return;
    throw refusal(doing, answer);
  });
}

/** Leaves no parts behind. With a patience of its own: the caller may have lost its. */
async function abandon(connection: Connection, key: string, uploadId: string): Promise<void> {
  const signal = AbortSignal.timeout(ABANDON_MS);
  const request = { doing: 'giving an upload up', method: 'DELETE', key, query: { uploadId }, signal } as const;
  // What stays all the same is swept when a store opens.
  await connection.call(request, [404]).catch(() => {});
}

export async function sizeOf(
  connection: Connection,
  key: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const { status, headers } = await connection.call(
    { doing: 'asking for the size of a blob', method: 'HEAD', key, signal },
    [404],
  );
  if (status === 404) return undefined;
  const size = Number(headers['content-length']);
  if (Number.isSafeInteger(size)) return size;
  throw fault('ARTIFACT_FAILED', { problem: 'what answers does not speak S3: it says no size' });
}
