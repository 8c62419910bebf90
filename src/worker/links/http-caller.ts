import { Agent, type ClientRequest, type IncomingMessage, request as plain } from 'node:http';
import { Agent as SecureAgent, request as secure } from 'node:https';
import { MAX_ANSWER_BYTES } from '../../protocol/frames.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** One response carries several answers, a few of them large. */
const MOST_BYTES = 9 * MAX_ANSWER_BYTES;

/** Sends POST requests to one node at a time, over a pool of connections that can be given up as a whole. */
export class HttpCaller {
  readonly #urls: readonly [string, ...string[]];
  #at = 0;
  #agent: Agent;

  constructor(urls: readonly [string, ...string[]]) {
    this.#urls = urls;
    this.#agent = this.#fresh();
  }

  /** The current connections. */
  get pool(): object {
    return this.#agent;
  }

  post(
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const url = new URL(path, this.url);
    const options = {
      method: 'POST',
      agent: this.#agent,
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      signal,
    };
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const request: ClientRequest = url.protocol === 'https:' ? secure(url, options) : plain(url, options);
    // The reason of the signal says more than the error that it causes.
    request.on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : error));
    request.on('response', (response) => void read(response).then(resolve, reject));
    request.end(body);
    return promise;
  }

  /**
   * One connection of the pool got no answer, so that the others may not either: all of them are closed, requests on them fail, and
   * the next node is used. A pool that was abandoned before is ignored.
   */
  abandon(way: object): void {
    if (way !== this.#agent) return;
    this.#agent.destroy();
    this.#at++;
    this.#agent = this.#fresh();
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The address of the node in use. */
  get url(): string {
    return this.#urls[this.#at % this.#urls.length] as string;
  }

  #fresh(): Agent {
    return this.url.startsWith('https:') ? new SecureAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
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
