import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Ends requests whose body takes longer than this. Node has one time for all requests of a server, and bytes of artifacts may take as long as they
 * take; so the server has none of its own, and this is it for all others. The time of the head is Node's.
 */
export class BodyDeadline {
  readonly #ms: number;
  readonly #refuse: (error: NodeJS.ErrnoException, socket: Socket) => void;

  constructor(ms: number, refuse: (error: NodeJS.ErrnoException, socket: Socket) => void) {
    this.#ms = ms;
    this.#refuse = refuse;
  }

  /** From the end of its head on. */
  begin(request: IncomingMessage): void {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    // It has no body. Most requests have none, and need no timer.
    if (coding === undefined && (length === undefined || length === '0')) return;
    const late = setTimeout(() => {
      const error = Object.assign(new Error('the request took too long'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      if (!request.complete) this.#refuse(error, request.socket);
    }, this.#ms).unref();
    request.once('end', () => clearTimeout(late)).once('close', () => clearTimeout(late));
  }
}
