import type { Socket } from 'node:net';

export interface StallTerms {
  /** How often it looks. */
  readonly tickMs: number;
  /** Ticks in a row with fewer bytes than this are a stall. */
  readonly bytesPerTick: number;
  readonly ticksInARow: number;
  /** All slow ticks together: so many, and one more for each tick that the whole would take at the least pace. */
  readonly ticksInAll: number;
}

/** 16 KiB a second. A slower line is cut off after half a minute, and one that comes and goes after twice the time that it would take at this pace. */
export const STALL_TERMS: StallTerms = { tickMs: 1000, bytesPerTick: 16_384, ticksInARow: 30, ticksInAll: 60 };

export interface Watched {
  readonly socket: Socket;
  readonly way: 'put' | 'get';
  /** How many bytes there are. */
  readonly size: number;
  /** Whether it is the other side that everything waits for. */
  readonly isTheirTurn: () => boolean;
  readonly onStall: () => void;
}

/**
 * Watches the pace of the other side of a transfer. A transfer has no time limit, since nobody knows how large a file is and how long the line;
 * but whoever sends or reads almost nothing would hold a file and a connection for as long as it likes. Time in which our own side is the slow one
 * does not count. Returns a function that ends the watch.
 */
export function watchStalls(watched: Watched, terms: StallTerms = STALL_TERMS): () => void {
  const { socket, way, size, isTheirTurn, onStall } = watched;
  const { tickMs, bytesPerTick, ticksInARow, ticksInAll } = terms;
  const gone = (): number => (way === 'put' ? socket.bytesRead : socket.bytesWritten);
  const most = ticksInAll + size / bytesPerTick;
  let before = gone();
  let row = 0;
  let all = 0;
  const timer = setInterval(() => {
    const now = gone();
    const isSlow = now - before < bytesPerTick && isTheirTurn();
    before = now;
    row = isSlow ? row + 1 : 0;
    if (isSlow) all += 1;
    if (row < ticksInARow && all < most) return;
    clearInterval(timer);
    onStall();
  }, tickMs);
  timer.unref();
  return () => clearInterval(timer);
}
