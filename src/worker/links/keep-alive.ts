import type { WebSocket } from 'ws';
import { PeerLiveness } from '../../protocol/peer-liveness.ts';
import { tickMs } from './reconnect.ts';

export interface KeepAliveOptions {
  /** 0: not known yet. */
  readonly leaseMs: number;
  /** Whether there is something to save. */
  readonly holds: () => boolean;
}

export interface KeepAlive {
  /** Nothing was heard for a while: a word that is answered spares the ping. */
  readonly wantsAnswer: boolean;
  readonly stop: () => void;
}

/** Ends a connection on which nobody is heard. */
export function keepAlive(socket: WebSocket, { leaseMs, holds }: KeepAliveOptions): KeepAlive {
  const everyMs = tickMs(leaseMs);
  const liveness = new PeerLiveness(everyMs);
  let spared = false;
  const look = (): void => {
    const atStake = holds();
    const ask = liveness.tick(atStake);
    if (liveness.isDead) socket.terminate();
    else if (ask && (atStake || spared)) socket.ping();
    // An idle worker beats as often as it looks here, and its next beat asks.
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
