import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { type EngineError, fault } from '../../core/errors.ts';

/** The bound of the first message of a client that has shown no secret yet. */
export const MAX_STRANGER_BYTES = 4096;
/** More of these frames than their payload: a header of 14 bytes, and pings. */
const MAX_READ_BYTES = MAX_STRANGER_BYTES + 1024;
/** Clients that have said nothing yet. A client that means it speaks at once, so beyond this the oldest goes. */
const MOST_WAITING = 1000;

/**
 * WebSockets of clients that have not said who they are. Each is read up to a few KiB: the bound of frames counts only for
 * those that are known, and 4 MiB of each of a thousand strangers would be 4 GB.
 */
export class StrangerSockets {
  /** In the order of their arrival, each with what stops the count of its bytes. */
  readonly #waiting = new Map<WebSocket, () => void>();

  get size(): number {
    return this.#waiting.size;
  }

  /** `showed`: a secret that is not good came with the upgrade. */
  add(socket: WebSocket, stream: Duplex, showed: boolean): void {
    let read = 0;
    const count = (chunk: Buffer): void => {
      read += chunk.length;
      if (read > MAX_READ_BYTES && this.delete(socket)) reject(socket, firstTooLong(showed));
    };
    stream.on('data', count);
    this.#waiting.set(socket, () => stream.off('data', count));
    socket.once('close', () => this.delete(socket));
    if (this.#waiting.size > MOST_WAITING) {
      const [oldest] = this.#waiting.keys();
      if (oldest !== undefined && this.delete(oldest)) oldest.terminate();
    }
  }

  /** Its first message has come, or it is gone. Answers whether it was a stranger. */
  delete(socket: WebSocket): boolean {
    this.#waiting.get(socket)?.();
    return this.#waiting.delete(socket);
  }
}

/** Of a client that was refused no more is read than what says goodbye: it could begin a frame of 4 MiB until it is cut off. */
export function readLittle(socket: WebSocket, stream: Duplex): void {
  let left = MAX_STRANGER_BYTES;
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.terminate();
  });
}

/** Whose secret is not good any more is told that: its first message would be read if it were. */
export function firstTooLong(showed: boolean): EngineError {
  if (showed) return fault('UNAUTHENTICATED');
  return fault(
    'TOO_LARGE',
    { field: 'first message', maxBytes: MAX_STRANGER_BYTES },
    {
      hint: 'Send "Authorization: Bearer SECRET" with the upgrade: then it may be longer. A worker of this version does.',
    },
  );
}

/** Nothing more of it is read, and after the close it is cut off. */
function reject(socket: WebSocket, { code, message, hint }: EngineError): void {
  socket.pause();
  socket.send(JSON.stringify({ type: 'connect_rejected', reason: message, error: { code, message, hint } }));
  socket.close(1009, 'the first message is too long');
}
