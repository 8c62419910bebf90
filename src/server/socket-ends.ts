/** What is said to the socket of a worker, and how it ends. */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { CredentialOrder } from '../protocol/credential-envelope.ts';
import type { NodeMessage } from '../protocol/frames.ts';

/** An order, as a message of its own. */
export function messageOf(order: CredentialOrder): NodeMessage {
  const { name, version } = order;
  return 'removed' in order
    ? { type: 'credential_remove', name, version }
    : { type: 'credential_push', name, version, envelope: order.envelope };
}

/**
 * Ends both sides of the stream: a client that keeps its side open would keep the server from closing, and one that hangs up
 * must not end the process.
 */
export function refuseUpgrade(stream: Duplex, line: string): void {
  stream.on('error', () => stream.destroy());
  stream.once('finish', () => stream.destroy());
  stream.end(`HTTP/1.1 ${line}\r\nConnection: close\r\n\r\n`);
}

/** Closes with a reason. Nothing that arrives after it counts, and a client that does not hang up is cut off. */
export function closeWith(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  socket.resume();
}

export function send(socket: WebSocket, message: NodeMessage): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
}
