import { Agent, type ClientRequest, type IncomingMessage, request as plain } from 'node:http';
import { Agent as SecureAgent, request as secure } from 'node:https';
import { MAX_ANSWER_BYTES } from '../protocol/frames.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** Several answers come in one response, a few of them large. */
const MOST_BYTES = 9 * MAX_ANSWER_BYTES;

/** Posts to one node over connections that stay open, and that can be given up all together. */
export class HttpCaller {
  readonly #url: string;
  #agent: Agent;

  constructor(url: string) {
    this.#url = url;
    this.#agent = this.#fresh();
  }

  post(
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const url = new URL(path, this.#url);
    const options = {
      method: 'POST',
      agent: this.#agent,
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      signal,
    };
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const asked: ClientRequest = url.protocol === 'https:' ? secure(url, options) : plain(url, options);
    // The signal says more than the error that it makes.
    asked.on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : error));
    asked.on('response', (response) => void read(response).then(resolve, reject));
    asked.end(body);
    return promise;
  }

  /** One connection was deaf, so that the others may be too: none of them is used again, and what waits on them ends. */
  renew(): void {
    this.#agent.destroy();
    this.#agent = this.#fresh();
  }

  close(): void {
    this.#agent.destroy();
  }

  #fresh(): Agent {
    return this.#url.startsWith('https:') ? new SecureAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
  }
}

async function read(response: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error(`the answer is larger than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
}
