import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { fault } from '../../core/errors.ts';
import { placeOf } from '../blob-key.ts';
import type { BlobCall, BlobStore, SignedTransfer, SignRequest } from '../blob-store.ts';
import { checkRange, type Range } from '../range.ts';
import { element, refusal, shortAnswer } from './answer.ts';
import { addressOf, type Bucket, type S3Credentials, signAddress } from './bucket.ts';
import { Connection } from './connection.ts';
import { ResumingBody } from './resuming-body.ts';
import { PATIENT, type RetryPolicy, retrying, TransientError } from './retry.ts';
import { sweepUploads } from './sweep.ts';
import { sizeOf, upload } from './upload.ts';

export interface S3StoreOptions {
  readonly credentials: S3Credentials;
  /** What is left out is as in `PATIENT`. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  readonly idleMs?: number | undefined;
}

/** An address in the wrong hands is good for so long at most. */
const LONGEST_SIGNED_MS = 60 * 60_000;
/** The most that one request of the protocol takes. */
const LARGEST_PUT = 5 * 1024 ** 3;
const REMOVES_AT_ONCE = 8;

export function openS3Store(bucket: Bucket, { credentials, retry, idleMs = 30_000 }: S3StoreOptions): BlobStore {
  const patience = { ...PATIENT, ...retry };
  const connection = new Connection(bucket, { credentials, retry: patience, idleMs });
  const closing = new AbortController();
  // Beside the work, and for nobody: what it does not reach now lies until the next start.
  sweepUploads(connection, Date.now(), closing.signal).catch(() => {});
  return {
    kind: 's3',
    async put(key, bytes, content, call = {}) {
      placeOf(key);
      await upload(connection, key, bytes, { content, call });
    },
    get: (key, options = {}) => download(connection, key, options),
    async size(key, { signal } = {}) {
      placeOf(key);
      return await sizeOf(connection, key, signal);
    },
    remove: (keys, call = {}) => remove(connection, keys, call),
    sign: (request) => sign(bucket, credentials, request),
    async check(call = {}) {
      // Whoever asks wants to know how it is now.
      const impatient = new Connection(bucket, {
        credentials,
        retry: { ...patience, tries: Math.min(2, patience.tries) },
        idleMs,
      });
      try {
        await check(impatient, call);
      } finally {
        impatient.close();
      }
    },
    async close() {
      closing.abort();
      connection.close();
    },
  };
}

async function download(connection: Connection, key: string, options: BlobCall & Range): Promise<Readable> {
  placeOf(key);
  checkRange(options);
  const { start = 0, end, signal, onProgress } = options;
  const request = { doing: 'reading a blob', method: 'GET', key, signal } as const;
  const ask = async (from: number, last = end): Promise<IncomingMessage> => {
    const ranged = from > 0 || last !== undefined;
    const range = ranged ? { headers: { range: `bytes=${from}-${last === undefined ? '' : last - 1}` } } : {};
    const answer = await connection.answer({ ...request, ...range }, [404, 416]);
    if (answer.statusCode === 404) {
      const said = await shortAnswer(answer);
      if (element(said.text, 'Code') === 'NoSuchBucket') throw refusal(request.doing, said);
      throw fault('NOT_FOUND', { kind: 'blob', id: key });
    }
    const nothingThere = answer.statusCode === 416;
    const asAsked = ranged
      ? answer.headers['content-range']?.startsWith(`bytes ${from}-`) === true
      : answer.statusCode === 200;
    if (!nothingThere && !asAsked) {
      answer.destroy();
      throw fault('ARTIFACT_FAILED', {
        problem: `what answers does not speak S3: HTTP ${answer.statusCode} with another part of a blob`,
      });
    }
    return answer;
  };
  if (end !== undefined && end <= start) {
    if ((await sizeOf(connection, key, signal)) === undefined) throw fault('NOT_FOUND', { kind: 'blob', id: key });
    return Readable.from([], { objectMode: false });
  }
  const answer = await retrying(connection.retry, request, () => ask(start));
  const coming = answer.statusCode === 416 ? 0 : Number(answer.headers['content-length']);
  const left = end === undefined ? coming : Math.min(coming, end - start);
  if (!Number.isSafeInteger(left)) {
    answer.destroy();
    throw fault('ARTIFACT_FAILED', { problem: 'what answers does not speak S3: it does not say how much comes' });
  }
  if (left === 0) {
    answer.resume();
    return Readable.from([], { objectMode: false });
  }
  const last = start + left;
  const rest = async (from: number): Promise<IncomingMessage> => {
    const again = await ask(from, last);
    if (Number(again.headers['content-length']) === last - from) return again;
    again.destroy();
    throw new TransientError('the rest of the blob has another length');
  };
  return new ResumingBody(answer, {
    retry: connection.retry,
    idleMs: connection.idleMs,
    from: start,
    left,
    ask: rest,
    signal,
    onProgress,
  });
}

/** One by one: not every server that speaks S3 knows the request for many. */
async function remove(connection: Connection, keys: readonly string[], { signal }: BlobCall): Promise<void> {
  for (const key of keys) placeOf(key);
  const left = [...keys];
  const lane = async (): Promise<void> => {
    for (let key = left.pop(); key !== undefined; key = left.pop())
      await connection.call({ doing: 'removing a blob', method: 'DELETE', key, signal }, [404]);
  };
  await Promise.all(Array.from({ length: REMOVES_AT_ONCE }, lane));
}

async function sign(bucket: Bucket, credentials: S3Credentials, request: SignRequest): Promise<SignedTransfer> {
  placeOf(request.key);
  const seconds = Math.max(1, Math.floor(Math.min(request.untilMs, LONGEST_SIGNED_MS) / 1000));
  if (request.way === 'put') {
    const { size, sha256 } = request.content;
    if (size > LARGEST_PUT)
      throw fault('TOO_LARGE', { field: 'artifact for one signed request', maxBytes: LARGEST_PUT });
    // Both are part of the signature: other bytes are refused by a server that knows the checksum, another length by every one.
    const headers = {
      'content-length': String(size),
      'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64'),
    };
    const unsigned = { method: 'PUT', url: addressOf(bucket, request.key), headers } as const;
    return { method: 'PUT', url: await signAddress(bucket, credentials, { request: unsigned, seconds }), headers };
  }
  // What somebody has left is never shown as a page of the bucket.
  const query = {
    'response-content-disposition': disposition(request.fileName),
    'response-content-type': 'application/octet-stream',
  };
  const unsigned = { method: 'GET', url: addressOf(bucket, request.key, query), headers: {} } as const;
  return { method: 'GET', url: await signAddress(bucket, credentials, { request: unsigned, seconds }), headers: {} };
}

/** The last segment of a name, in the two spellings of RFC 6266. */
function disposition(fileName: string | undefined): string {
  const name =
    (fileName ?? '').toWellFormed().split(/[/\\]/).at(-1)?.replace(/\p{C}/gu, '').slice(0, 200).toWellFormed() ?? '';
  if (name === '') return 'attachment';
  const plain = name.replace(/[^\w. -]/g, '_');
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return plain === name
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}

/** Writes, reads and removes a probe beside the blobs. */
async function check(connection: Connection, { signal }: BlobCall): Promise<void> {
  const key = `probe-${randomBytes(8).toString('hex')}`;
  const body = Buffer.from(key);
  await connection.call({ doing: 'writing a probe', method: 'PUT', key, body, signal });
  try {
    const { text } = await connection.call({ doing: 'reading a probe', method: 'GET', key, signal });
    if (text !== key) throw fault('ARTIFACT_FAILED', { problem: 'what was written is not what is read' });
  } finally {
    await connection.call({ doing: 'removing a probe', method: 'DELETE', key, signal }, [404]);
  }
}
