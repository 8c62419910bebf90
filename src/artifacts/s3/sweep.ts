import { isBlobKey } from '../../core/artifact/blob-key.ts';
import { element, shortAnswer } from './answer.ts';
import type { Connection } from './connection.ts';

const STALE_MS = 24 * 60 * 60_000;
/** One answer of bounded length; the next start goes on. */
const AT_ONCE = 50;

/**
 * Gives up uploads that processes have left half, a day after they began: nobody sees their parts, and somebody pays for them. Only what lies under
 * keys of ours. A bucket that lists no uploads, or not to us, keeps them; a rule of its own (AbortIncompleteMultipartUpload) does the same.
 */
export async function sweepUploads(connection: Connection, now: number, signal: AbortSignal): Promise<void> {
  const { prefix } = connection.bucket;
  // Once: the next start asks again.
  const answer = await connection.answer({
    doing: 'listing half uploads',
    method: 'GET',
    key: undefined,
    query: { uploads: '', prefix: `${prefix}sha256/`, 'max-uploads': String(AT_ONCE) },
    signal,
  });
  const { text } = await shortAnswer(answer);
  for (const [upload] of text.matchAll(/<Upload>.{0,4000}?<\/Upload>/gs)) {
    const key = element(upload, 'Key') ?? '';
    const uploadId = element(upload, 'UploadId') ?? '';
    const begunAt = Date.parse(element(upload, 'Initiated') ?? '');
    const own = key.startsWith(prefix) && isBlobKey(key.slice(prefix.length));
    if (!own || uploadId === '' || !(now - begunAt > STALE_MS)) continue;
    const abort = { doing: 'giving an upload up', method: 'DELETE', query: { uploadId }, signal } as const;
    await connection.call({ ...abort, key: key.slice(prefix.length) }, [404]);
  }
}
