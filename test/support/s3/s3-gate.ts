import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Afterwards, CREDENTIALS, type S3Server } from './s3-server.ts';
import { problemOf } from './signature.ts';

/**
 * What becomes of a request: `through`; `hang`: it is read and never answered; `lost`: done, and the answer is cut off; an answer instead of the
 * server's; cut after so many bytes of its body or of the answer's.
 */
export type Fate =
  | 'through'
  | 'hang'
  | 'lost'
  | { readonly status: number; readonly text?: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly cutBodyAfter: number }
  | { readonly cutAnswerAfter: number }
  | { readonly stallAnswerAfter: number };

/** In front of the S3 server. It refuses what a real bucket would refuse for its signature, and fails as it is told. */
export class S3Gate {
  /** Method and path of every request, in the order in which they came. */
  readonly seen: string[] = [];
  /** Codes of requests that were refused for their signature. */
  readonly refused: string[] = [];
  fate: (request: IncomingMessage) => Fate = () => 'through';
  /** What requests must be signed with. */
  secret: string = CREDENTIALS.secretAccessKey;
  readonly #target: S3Server;
  readonly #parts = new Map<string, Set<Promise<void>>>();
  #server: Server;
  #port = 0;

  private constructor(target: S3Server) {
    this.#target = target;
    this.#server = this.#make();
  }

  static async start(t: Afterwards, target: S3Server): Promise<S3Gate> {
    const gate = new S3Gate(target);
    await gate.up();
    t.after(() => gate.down());
    return gate;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Opens it, after `down` at the address that it had. */
  async up(): Promise<void> {
    this.#server = this.#make();
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async down(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #make(): Server {
    return createServer((asked, answer) => {
      asked.on('error', () => {});
      void this.#pass(asked, answer).catch(() => answer.destroy());
    });
  }

  async #pass(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    this.seen.push(`${asked.method} ${asked.url}`);
    const fate = this.fate(asked);
    const body = await this.#bodyOf(
      asked,
      typeof fate === 'object' && 'cutBodyAfter' in fate ? fate.cutBodyAfter : undefined,
    );
    if (body === undefined || fate === 'hang') return;
    if (typeof fate === 'object' && 'status' in fate) {
      answer.writeHead(fate.status, fate.headers).end(fate.text);
      return;
    }
    const problem = problemOf(asked, body, this.secret);
    if (problem !== undefined) {
      this.refused.push(problem);
      answer.writeHead(403).end(`<Error><Code>${problem}</Code><Message>refused</Message></Error>`);
      return;
    }
    const { searchParams: query } = new URL(asked.url ?? '', this.endpoint);
    const uploadId = query.get('uploadId');
    if (query.has('uploads') && asked.method === 'GET') answer.end(this.#listUploads());
    else if (uploadId === null) await this.#forward(asked, body, answer, fate);
    else
      await this.#ofUpload(uploadId, asked.method === 'DELETE', answer, () => this.#forward(asked, body, answer, fate));
  }

  /** As a real bucket: nothing goes to an upload that is over, and what is under way ends before it is given up. */
  async #ofUpload(id: string, giveUp: boolean, answer: ServerResponse, forward: () => Promise<void>): Promise<void> {
    const parts = this.#parts.get(id) ?? new Set();
    this.#parts.set(id, parts);
    if (giveUp) await Promise.all(parts);
    if (!this.#target.hasUpload(id)) {
      answer.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>');
    } else if (giveUp) {
      this.#target.abortUpload(id);
      answer.writeHead(204).end();
    } else {
      const part = forward().finally(() => parts.delete(part));
      parts.add(part);
      await part;
    }
  }

  #listUploads(): string {
    const uploads = this.#target
      .uploads()
      .map(
        ({ id, key, begunAt }) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiator><ID>1</ID></Initiator><Initiated>${begunAt.toISOString()}</Initiated></Upload>`,
      );
    return `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`;
  }

  async #bodyOf(asked: IncomingMessage, cutAfter: number | undefined): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of asked as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (cutAfter === undefined || size < cutAfter) continue;
      asked.socket.resetAndDestroy();
      return undefined;
    }
    return Buffer.concat(chunks);
  }

  /** Resolves when the server has done it, or has failed. */
  #forward(asked: IncomingMessage, body: Buffer, answer: ServerResponse, fate: Fate): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { method, url: path, headers } = asked;
    const onward = request(
      { host: '127.0.0.1', port: this.#target.port, method, path, headers, agent: false },
      (got) => {
        if (fate === 'lost') {
          got.resume().on('end', () => answer.destroy());
          return;
        }
        answer.writeHead(got.statusCode ?? 500, got.headers);
        const cut = typeof fate === 'object' && 'cutAnswerAfter' in fate ? fate.cutAnswerAfter : undefined;
        const stall = typeof fate === 'object' && 'stallAnswerAfter' in fate ? fate.stallAnswerAfter : undefined;
        let left: number = cut ?? stall ?? Number.POSITIVE_INFINITY;
        answer.on('close', () => got.destroy());
        got.on('data', (chunk: Buffer) => {
          const part = chunk.subarray(0, left);
          left -= part.length;
          const more = answer.write(part, () => left === 0 && cut !== undefined && answer.destroy());
          if (left === 0) got.destroy();
          else if (!more) {
            got.pause();
            answer.once('drain', () => got.resume());
          }
        });
        got.on('end', () => left > 0 && answer.end());
        got.on('error', () => {});
      },
    );
    onward.on('error', () => answer.destroy());
    onward.on('close', resolve);
    onward.end(body);
    return promise;
  }
}
