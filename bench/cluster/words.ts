/** What the processes of a scene say to each other. */
export const QUEUE = 'bench';
export const HANDLER = 'noop';
export const ADMIN = 'the-token-of-a-benchmark';

/** The input of every task. */
export interface Noted {
  /** Which one it is. */
  readonly n: number;
  /** Monotonic µs of the call that pushed it; 0 where nobody asks. */
  readonly sent: number;
  /** For how long it keeps its slot. */
  readonly holdMs: number;
  readonly pad: string;
}

/** A task as its worker began it. */
export interface Start {
  readonly n: number;
  readonly sent: number;
  /** Monotonic µs. */
  readonly at: number;
}

/** 0.4 KB, as those of the other benchmarks. */
const PAD = 'x'.repeat(350);

export function noted(n: number, { sent = 0, holdMs = 0 } = {}): Noted {
  return { n, sent, holdMs, pad: PAD };
}
