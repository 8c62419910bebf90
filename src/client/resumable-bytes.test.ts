import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fault } from '../core/errors.ts';
import { verified } from '../protocol/verified-bytes.ts';
import { type ResumableBytes, resumableBytes } from './resumable-bytes.ts';
import { REAL_CLOCK, RetryBackoff } from './retry-backoff.ts';

const WHOLE = '0123456789';
const CONTENT = { size: 10, sha256: createHash('sha256').update(WHOLE).digest('hex') };

/** Sends the text and then ends, breaks, or says nothing more. */
function answer(text: string, then: 'end' | 'break' | 'silence', status: number, signal: AbortSignal): Response {
  const chunks = text === '' ? [] : [new TextEncoder().encode(text)];
  return new Response(
    new ReadableStream({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk !== undefined) controller.enqueue(chunk);
        else if (then === 'end') controller.close();
        else if (then === 'break') controller.error(new Error('reset'));
        else return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    }),
    { status },
  );
}

function fetchAll(connect: ResumableBytes['connect'], options: Partial<ResumableBytes> = {}) {
  const clock = { ...REAL_CLOCK, sleep: () => Promise.resolve() };
  return resumableBytes({
    size: 10,
    connect,
    backoff: new RetryBackoff(clock, 1e9),
    signal: new AbortController().signal,
    silentMs: 1e6,
    ...options,
  });
}

const textOf = async (bytes: AsyncIterable<Uint8Array>): Promise<string> =>
  Buffer.concat(await Array.fromAsync(bytes)).toString();

test('each connection begins after the last byte of the one before, however that one ended', async () => {
  const starts: number[] = [];
  const away: boolean[] = [];
  const connect = async (start: number, signal: AbortSignal): Promise<Response> => {
    starts.push(start);
    if (start === 0) return answer('012', 'break', 200, signal);
    if (start === 3) return answer('34', 'end', 206, signal);
    if (start === 5) return answer('56', 'silence', 206, signal);
    return answer('789', 'end', 206, signal);
  };
  const bytes = fetchAll(connect, { silentMs: 20, onAway: (error) => away.push(error !== undefined) });
  assert.equal(await textOf(verified(bytes, CONTENT)), WHOLE);
  assert.deepEqual(starts, [0, 3, 5, 7]);
  assert.deepEqual(away, [true, false, true, false, true, false]);
});

test('a node that knows no ranges sends all again, and what was read is left out', async () => {
  let connections = 0;
  const connect = async (_: number, signal: AbortSignal): Promise<Response> =>
    ++connections === 1 ? answer('01234', 'break', 200, signal) : answer(WHOLE, 'end', 200, signal);
  assert.equal(await textOf(fetchAll(connect)), WHOLE);
});

test('a refusal ends it, and so does the end of patience', async () => {
  const refused = fetchAll(() => Promise.reject(fault('NOT_FOUND', { kind: 'artifact' })));
  await assert.rejects(textOf(refused), { code: 'NOT_FOUND' });
  const clock = { ...REAL_CLOCK, sleep: () => Promise.resolve() };
  const away = fetchAll(() => Promise.reject(fault('NODE_UNREACHABLE')), { backoff: new RetryBackoff(clock, 0) });
  await assert.rejects(textOf(away), { code: 'NODE_UNREACHABLE' });
});

test('bytes that are not the right ones end with a refusal', async () => {
  async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
    for (const text of texts) yield new TextEncoder().encode(text);
  }
  assert.equal(await textOf(verified(pieces('01234', '56789'), CONTENT)), WHOLE);
  for (const wrong of [['0123456788'], ['012345678'], ['01234', '567890'], []]) {
    await assert.rejects(textOf(verified(pieces(...wrong), CONTENT)), { code: 'ARTIFACT_MISMATCH' }, wrong.join());
  }
});
