import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isEngineError } from '../../core/errors.ts';
import { refusal, type S3Answer, shortAnswer } from './answer.ts';
import { addressOf, type Bucket, type Query, type S3Credentials, signHeaders } from './bucket.ts';
import { type RetryPolicy, retrying, TransientError } from './retry.ts';

export interface S3Request {
  /** For people, when it fails. */
  readonly doing: string;
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Undefined: the bucket itself. */
  readonly key: string | undefined;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  /** How long the connection may be silent; default `idleMs`. */
  readonly silenceMs?: number;
}

export interface ConnectionOptions {
  readonly credentials: S3Credentials;
  readonly retry: RetryPolicy;
  /** A connection on which nothing moves for so long is given up. */
  readonly idleMs: number;
}

/** Signed requests to one bucket over connections that stay open. Nothing is followed: an answer that points elsewhere is a refusal. */
export class Connection {
  readonly bucket: Bucket;
  readonly retry: RetryPolicy;
  readonly idleMs: number;
  readonly #credentials: S3Credentials;
  readonly #agent: HttpAgent;

  constructor(bucket: Bucket, { credentials, retry, idleMs }: ConnectionOptions) {
    this.bucket = bucket;
    this.retry = retry;
    this.idleMs = idleMs;
    this.#credentials = credentials;
    // The last used first, so that those left over from a busy time close. No proxy: the address that was given is the one that is called.
    const options = {
      keepAlive: true,
      maxSockets: 32,
      maxFreeSockets: 8,
      scheduling: 'lifo' as const,
      timeout: 60_000,
    };
    this.#agent = this.#secure ? new HttpsAgent(options) : new HttpAgent(options);
  }

  get #secure(): boolean {
    return this.bucket.endpoint.protocol === 'https:';
  }

  /** Tries until it is answered; `also`: a status besides success that is an answer. */
  async call(request: S3Request, also: readonly number[] = []): Promise<S3Answer> {
    return await retrying(this.retry, request, async () => {
      const answer = await this.answer(request, also);
      try {
        return await shortAnswer(answer);
      } catch (error) {
        throw this.#broken(error, request.signal);
      }
    });
  }

  /** One try. The answer is a success, or of a status in `also`; its body is the caller's to read or destroy. */
  async answer(request: S3Request, also: readonly number[] = []): Promise<IncomingMessage> {
    let answer: IncomingMessage;
    try {
      answer = await this.#send(request);
      const status = answer.statusCode ?? 0;
      if ((status >= 200 && status < 300) || also.includes(status)) return answer;
      throw refusal(request.doing, await shortAnswer(answer));
    } catch (error) {
      throw this.#broken(error, request.signal);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /** A fault stays one, an abort says why; all else is a connection that broke. */
  #broken(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted === true) return signal.reason;
    if (isEngineError(error) || error instanceof TransientError) return error;
    const { code, message } = error as NodeJS.ErrnoException;
    // Certificates do not heal by themselves, but their errors are many and a wrong try costs little.
    return new TransientError(`the connection to ${this.bucket.endpoint.host} failed: ${code ?? message}`, {
      cause: error,
    });
  }

  async #send({ method, key, query, headers = {}, body, signal, silenceMs }: S3Request): Promise<IncomingMessage> {
    signal?.throwIfAborted();
    const url = addressOf(this.bucket, key, query);
    const signed = await signHeaders(this.bucket, this.#credentials, {
      method,
      url,
      headers: { ...headers, 'x-amz-content-sha256': headers['x-amz-content-sha256'] ?? (await this.#bodyHash(body)) },
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = (this.#secure ? httpsRequest : httpRequest)(url, {
      method,
      agent: this.#agent,
      headers: {
        ...signed.headers,
        ...(body === undefined && method !== 'PUT' && method !== 'POST'
          ? {}
          : { 'content-length': String(body?.length ?? 0) }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    const limit = silenceMs ?? this.idleMs;
    request.setTimeout(limit, () => request.destroy(new Error(`it was silent for ${Math.round(limit / 1000)} s`)));
    request.on('error', reject);
    request.once('response', resolve);
    request.end(body);
    return await promise;
  }

  async #bodyHash(body: Uint8Array | undefined): Promise<string> {
    if (!this.bucket.signBodies) return 'UNSIGNED-PAYLOAD';
    // On a thread of the pool: the loop goes on.
    const digest = await crypto.subtle.digest('SHA-256', (body ?? new Uint8Array()) as Uint8Array<ArrayBuffer>);
    return Buffer.from(digest).toString('hex');
  }
}
