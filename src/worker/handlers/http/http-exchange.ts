import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Already checked. The connection goes to one of these, even if the name resolves differently by then. */
  readonly addresses: readonly ResolvedAddress[];
  readonly signal: AbortSignal;
  /** Whose certificates are trusted, instead of those of the usual authorities. */
  readonly ca?: string | undefined;
  /** Beyond this the answer is cut; default `MAX_BODY`. */
  readonly maxBody?: number | undefined;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. Repeated headers are joined, except cookies, which cannot be joined. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer;
  /** There was more than was read. */
  readonly cut: boolean;
}

export const MAX_BODY = 1024 * 1024;

/** Sends one request on a connection of its own. Redirects are returned like any other answer. */
export async function exchange(given: HttpRequest): Promise<HttpResponse> {
  const { maxBody = MAX_BODY } = given;
  const response = await send(given);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > maxBody) break;
  }
  return {
    status: response.statusCode ?? 0,
    headers: headersOf(response),
    body: Buffer.concat(chunks).subarray(0, maxBody),
    cut: size > maxBody,
  };
}

/** The request on its way: resolves with the head of the answer, whose body is not read yet. */
export function send({ method, url, headers, body, addresses, signal, ca }: HttpRequest): Promise<IncomingMessage> {
  // Not by imports: a worker that sends nothing then starts without them.
  const { Agent, request: open } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const hostname = hostOf(url);
  const payload = body === undefined ? undefined : Buffer.from(body);
  const options = {
    method,
    hostname,
    port: portOf(url),
    path: url.pathname + url.search,
    headers: { ...headers, Host: url.host, ...(payload === undefined ? {} : { 'Content-Length': payload.length }) },
    lookup: onlyThese(addresses),
    // The certificate belongs to the name, not to the address. For an address there is no name to send.
    servername: isIP(hostname) === 0 ? hostname : '',
    // Not the shared agent: it may hold a connection to another address of this name, or be configured to use a proxy.
    agent: new Agent(),
    ...(ca === undefined ? {} : { ca }),
    signal,
  };
  return new Promise((resolve, reject) => {
    open(options)
      .on('response', resolve)
      .on('error', reject)
      // An unrequested upgrade is refused, and every end of the request settles the promise.
      .on('upgrade', (_response, socket) => {
        socket.destroy();
        reject(new Error('the server answered with another protocol (101), which was not asked for'));
      })
      .on('close', () => reject(new Error('the connection ended without an answer')))
      .end(payload);
  });
}

/** Connects to these whatever the name resolves to by then. */
export function onlyThese(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_hostname, options, answer) => {
    const [first] = addresses;
    if (options.all === true) answer(null, [...addresses]);
    else answer(null, first?.address ?? '', first?.family);
  };
}

/** Without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

export function headersOf({ rawHeaders }: IncomingMessage): HttpResponse['headers'] {
  const headers = new Map<string, string[]>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    const values = headers.get(name) ?? [];
    values.push(rawHeaders[i + 1] ?? '');
    headers.set(name, values);
  }
  // A result with this key cannot be stored.
  headers.delete('__proto__');
  return Object.fromEntries(
    Array.from(headers, ([name, values]) => [name, name === 'set-cookie' ? values : values.join(', ')]),
  );
}
