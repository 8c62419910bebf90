import type { WebSocket } from 'ws';
import { PeerLiveness } from '../../protocol/peer-liveness.ts';
import { tickMs } from './reconnect.ts';

export interface KeepAliveOptions {
  /** 0: not known yet. */
  readonly leaseMs: number;
  /** Whether leases are held. */
  readonly holds: () => boolean;
}

export interface KeepAlive {
  /** Nothing was received for a while: a request now spares the ping. */
  readonly wantsAnswer: boolean;
  readonly stop: () => void;
}

/** Closes a connection on which nothing is received. */
export function keepAlive(socket: WebSocket, { leaseMs, holds }: KeepAliveOptions): KeepAlive {
  const everyMs = tickMs(leaseMs);
  const liveness = new PeerLiveness(everyMs);
  let spared = false;
  const look = (): void => {
    const atStake = holds();
    const ask = liveness.tick(atStake);
    if (liveness.isDead) socket.terminate();
    else if (ask && (atStake || spared)) socket.ping();
    // An idle worker beats as often as this runs, and its next beat wants an answer.
    else if (ask) spared = true;
  };
  const hear = (): void => {
    liveness.heard();
    spared = false;
  };
  const timer = setInterval(look, everyMs);
  for (const sign of ['ping', 'pong', 'message']) socket.on(sign, hear);
  return {
    get wantsAnswer() {
      return liveness.isQuiet;
    },
    stop: () => {
      clearInterval(timer);
      for (const sign of ['ping', 'pong', 'message']) socket.off(sign, hear);
    },
  };
}
