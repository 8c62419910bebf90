import type { WebSocket } from 'ws';
import { Silence } from '../protocol/silence.ts';
import { tickMs } from './reach.ts';

export interface KeptAlive {
  /** 0: not known yet. */
  readonly leaseMs: number;
  /** Whether there is something to save. */
  readonly holds: () => boolean;
}

/**
 * Ends a connection on which nobody is heard; answers how to stop that. Who holds nothing has time, and asks hardly ever: its node
 * asks often enough to know whom it may give something.
 */
export function keepAlive(socket: WebSocket, { leaseMs, holds }: KeptAlive): () => void {
  const silence = new Silence();
  const everyMs = tickMs(leaseMs);
  const idleTicks = Math.ceil(tickMs(0) / everyMs);
  let skipped = 0;
  const look = (): void => {
    if (!holds() && ++skipped < idleTicks) return;
    skipped = 0;
    const ask = silence.tick();
    if (silence.isLong) socket.terminate();
    else if (ask) socket.ping();
  };
  const hear = (): void => silence.heard();
  const timer = setInterval(look, everyMs);
  for (const sign of ['ping', 'pong', 'message']) socket.on(sign, hear);
  return () => {
    clearInterval(timer);
    for (const sign of ['ping', 'pong', 'message']) socket.off(sign, hear);
  };
}
