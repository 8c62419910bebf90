import type { WebSocket } from 'ws';
import { Silence } from '../protocol/silence.ts';
import { tickMs } from './reach.ts';

export interface KeptAlive {
  /** 0: not known yet. */
  readonly leaseMs: number;
  /** Whether there is something to save. */
  readonly holds: () => boolean;
}

/** Ends a connection on which nobody is heard; answers how to stop that. */
export function keepAlive(socket: WebSocket, { leaseMs, holds }: KeptAlive): () => void {
  const everyMs = tickMs(leaseMs);
  const silence = new Silence(everyMs);
  const look = (): void => {
    const ask = silence.tick(holds());
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
