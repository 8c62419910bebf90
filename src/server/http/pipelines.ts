import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that wait for the answers before theirs. Clients send one at a time; proxies do too. */
export const MOST_WAITING = 8;

/**
 * Answers the requests of one connection one after the other, and gives others their turn between them. Node reads all that a
 * packet holds and would begin them together: 200 connections with 1700 requests in each packet stopped the event loop for
 * half a minute, and held a gigabyte.
 */
export class Pipelines {
  /** Connections with a request that is being answered, and what waits behind it. */
  readonly #busy = new WeakMap<Socket, (() => void)[]>();

  /** Calls `begin` when it is the turn of this request. Never, if the connection is gone or has sent too many at once. */
  enter({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
    if (socket.destroyed) return;
    const waiting = this.#busy.get(socket);
    const turn = (): void => {
      response.once('close', () => this.#next(socket));
      begin();
    };
    if (waiting === undefined) {
      this.#busy.set(socket, []);
      turn();
    } else if (waiting.length < MOST_WAITING) waiting.push(turn);
    else cutOff(socket);
  }

  /** Whether a request of this connection is being answered. */
  isBusy({ socket }: IncomingMessage): boolean {
    return this.#busy.has(socket);
  }

  #next(socket: Socket): void {
    const next = this.#busy.get(socket)?.shift();
    if (next === undefined || socket.destroyed) this.#busy.delete(socket);
    else setImmediate(next);
  }
}

/**
 * Node begins every request of a packet, also of a connection that is gone meanwhile: 50 ms for a packet of 64 KiB. Its parser
 * stops where it is told that the connection is handed over, so that is what the next request of this packet is told. Without
 * the parser, which Node does not document, the connection ends all the same.
 */
function cutOff(socket: Socket & { readonly parser?: { onIncoming: unknown } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => HANDED_OVER;
  socket.destroy();
}

const HANDED_OVER = 2;
