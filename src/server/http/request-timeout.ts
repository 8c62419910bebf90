import type { Socket } from 'node:net';

/**
 * Lets the request that is being read take longer than others. Node ends every request that is not complete within the time of the server, and has no
 * time for one alone: its parser is taken from the list that is looked through, and is back on it with the next request. Node does not document this;
 * without the parser such a request has the time of all.
 */
export function letTakeItsTime(socket: Socket & { readonly parser?: { remove?(): void } | null }): void {
  socket.parser?.remove?.();
}
