import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Fetch, Fetched, FetchInit } from '../../client/request.ts';

/** As long as `fetch` gives a connection. */
const CONNECT_MS = 10_000;

/**
 * What the client needs of `fetch`, over `node:http`. The global `fetch` loads a second HTTP stack of 110 ms and 15 MB, which is more
 * than all of a command that asks a node once. Follows no redirect: what answers with one is not a node.
 */
export const nodeFetch: Fetch = (url, init) =>
  new Promise<Fetched>((resolve, reject) => {
    const request = send(url, init, (answer) => resolve(fetchedOf(answer)));
    boundConnect(request);
    request.once('error', reject);
    request.end(init.body);
  });

function send(
  url: string,
  { method, headers, body, signal }: FetchInit,
  onAnswer: (answer: IncomingMessage) => void,
): ClientRequest {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  // Only now, and not by an import: `import 'node:http'` reads all its exports, of which one loads the stack of `fetch`.
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  return request(url, { method, headers: { ...headers, ...length }, signal }, onAnswer);
}

/** A host that drops packets would hold the call until its timeout, though another node may answer. */
function boundConnect(request: ClientRequest): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    const late = setTimeout(() => request.destroy(tooLate()), CONNECT_MS);
    socket.once('connect', () => clearTimeout(late));
    request.once('close', () => clearTimeout(late));
  });
}

/** Under the name that `fetch` has for it: nothing was sent. */
function tooLate(): Error {
  return Object.assign(new Error('nobody answers there'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
}

function fetchedOf(answer: IncomingMessage): Fetched {
  const { statusCode: status = 0 } = answer;
  return {
    ok: status >= 200 && status < 300,
    status,
    body: {
      getReader() {
        const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
        return {
          read: () => chunks.next(),
          cancel: () => Promise.resolve(void answer.destroy()),
        };
      },
    },
  };
}
