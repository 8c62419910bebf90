import { pipeline, Readable, Transform } from 'node:stream';
import { headersOf, send } from '../../handlers/http/http-exchange.ts';
import type { Reach } from '../chat-endpoint.ts';

const MOST_BYTES = 64 * 1024 * 1024;
/** Answers that have no body. */
const BARE: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** `fetch` that connects only where `reach` allows, and reads no more of an answer than it may have. Redirects are given back. */
export function reachingFetch(reach: Reach): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const to = new URL(url);
    const signal = init.signal ?? new AbortController().signal;
    const { body: sent } = init;
    if (sent !== undefined && sent !== null && typeof sent !== 'string') throw new TypeError('a request is a text');
    const response = await send({
      method: init.method ?? 'GET',
      url: to,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: sent ?? undefined,
      addresses: await reach(to, signal),
      signal,
    });
    const status = response.statusCode ?? 0;
    const headers = Object.entries(headersOf(response)).map(([name, value]) => [name, [value].flat().join(', ')]);
    const answer = { status, headers: headers as [string, string][] };
    if (BARE.has(status)) {
      response.resume();
      return new Response(null, answer);
    }
    // Also a connection that breaks ends the body: who reads it would wait for ever.
    const body = pipeline(response, bounded(), () => {});
    return new Response(Readable.toWeb(body) as ConstructorParameters<typeof Response>[0], answer);
  };
}

function bounded(): Transform {
  let size = 0;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      size += chunk.length;
      if (size > MOST_BYTES) done(new Error(`an answer has more than ${MOST_BYTES} bytes`));
      else done(null, chunk);
    },
  });
}
