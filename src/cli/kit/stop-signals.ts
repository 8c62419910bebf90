import type { StopSignal } from './exit.ts';

/**
 * One Ctrl-C under `npm start` arrives twice within 1 to 2 ms: once from the terminal and once from npm. So a second
 * signal means "now" only when it comes this long after the first.
 */
export const FORCE_AFTER_MS = 300;

/** running ──signal──> stopping ──signal, 300 ms after the first or later──> forced */
export class StopPolicy {
  #firstAt: number | undefined;

  /** The meaning of a signal at this monotonic time. */
  heard(now: number): 'stop' | 'nothing' | 'force' {
    if (this.#firstAt === undefined) {
      this.#firstAt = now;
      return 'stop';
    }
    return this.forceableIn(now) === 0 ? 'force' : 'nothing';
  }

  /** The time until a second signal forces; 0: it does now. */
  forceableIn(now: number): number {
    return Math.max(0, (this.#firstAt ?? now) + FORCE_AFTER_MS - now);
  }
}

export interface StopHandlers {
  readonly stop: (signal: StopSignal) => void;
  readonly force: (signal: StopSignal) => void;
  /** From now on a second signal forces, and the user can be told. */
  readonly forceable?: () => void;
}

/** Listens until the returned function is called. */
export function onStopSignals(handlers: StopHandlers): () => void {
  const policy = new StopPolicy();
  let patience: NodeJS.Timeout | undefined;
  // Timers count from the loop's own, older time and may fire early, but "once more forces" must be true when it is shown.
  const tellWhenForceable = (): void => {
    const left = policy.forceableIn(performance.now());
    if (left === 0) handlers.forceable?.();
    else patience = setTimeout(tellWhenForceable, Math.ceil(left));
  };
  const heard = (signal: StopSignal): void => {
    const wish = policy.heard(performance.now());
    if (wish === 'stop') {
      tellWhenForceable();
      handlers.stop(signal);
    }
    if (wish === 'force') handlers.force(signal);
  };
  const signals: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];
  for (const signal of signals) process.on(signal, heard);
  return () => {
    clearTimeout(patience);
    for (const signal of signals) process.off(signal, heard);
  };
}
