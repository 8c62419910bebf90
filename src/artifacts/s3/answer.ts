import type { IncomingMessage } from 'node:http';
import { NO_ROOM, saysNoRoom } from '../../core/artifact/no-room.ts';
import { fault } from '../../core/errors.ts';
import { TransientError } from './retry.ts';

const LONGEST_ANSWER = 64 * 1024;
/** Codes that a later try may not get, whatever their status. */
const PASSING: ReadonlySet<string> = new Set([
  'InternalError',
  'OperationAborted',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
]);

export interface S3Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** The whole answer where it is short: an error, or a word about an upload. */
export async function shortAnswer(message: IncomingMessage): Promise<S3Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LONGEST_ANSWER)
      throw fault('ARTIFACT_FAILED', { problem: 'what answers does not speak S3: it says too much' });
    chunks.push(chunk);
  }
  return { status: message.statusCode ?? 0, headers: message.headers, text: Buffer.concat(chunks).toString('utf8') };
}

/** The text of an element that occurs once. Answers are a few flat elements, so nothing reads XML as such. */
export function element(text: string, name: string): string | undefined {
  const found = new RegExp(`<${name}(?:\\s[^>]{0,500})?>([^<]{0,2000})</${name}>`).exec(text)?.[1];
  return found
    ?.replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#34;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}

/** What an answer other than success means: an error to try again after, or a fault. */
export function refusal(doing: string, answer: S3Answer): Error {
  const { status, headers, text } = answer;
  const code = element(text, 'Code');
  const said = code === undefined ? `HTTP ${status}` : `HTTP ${status} ${code}`;
  if (saysNoRoom(status, text))
    return fault('ARTIFACT_FAILED', { problem: `${doing}: ${NO_ROOM} (${said})`, status, s3: code });
  const passing = status >= 500 || status === 429 || status === 408 || (code !== undefined && PASSING.has(code));
  // 501 stays what it is.
  if (passing && status !== 501) {
    const seconds = Number(headers['retry-after']);
    return new TransientError(said, Number.isFinite(seconds) ? { retryAfterMs: seconds * 1000 } : {});
  }
  const message = element(text, 'Message')?.slice(0, 100);
  return fault(
    'ARTIFACT_FAILED',
    {
      problem: `${doing}: the bucket answered ${said}${message === undefined ? '' : `, ${message}`}`,
      status,
      s3: code,
    },
    hintFor(status, code, headers['x-amz-bucket-region']),
  );
}

function hintFor(status: number, code: string | undefined, region: unknown): { readonly hint?: string } {
  if (code === 'NoSuchBucket') return { hint: 'Make the bucket, or correct its name in the place of artifacts.' };
  if (code === 'RequestTimeTooSkewed') return { hint: 'Set the clock of this host: signatures carry the time.' };
  if (status >= 300 && status < 400) {
    const where = typeof region === 'string' ? ` It is in ${region}.` : '';
    return { hint: `The bucket is reached at another address or in another region.${where} Set region or endpoint.` };
  }
  if (status === 401 || status === 403)
    return { hint: 'Check the access key of the bucket, its secret, and that it may read, write and delete there.' };
  return {};
}
