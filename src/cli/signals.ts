import type { StopSignal } from './exit.ts';

/**
 * One Ctrl-C under `npm start` arrives twice within 1 to 2 ms: once from the terminal and once from npm. So a second
 * signal means "now" only when it comes this long after the first.
 */
export const FORCE_AFTER_MS = 300;

/** running ──signal──> stopping ──signal, 300 ms after the first or later──> forced */
export class StopPolicy {
  #firstAt: number | undefined;

  /** What a signal at this monotonic time asks for. */
  heard(now: number): 'stop' | 'nothing' | 'force' {
    if (this.#firstAt === undefined) {
      this.#firstAt = now;
      return 'stop';
    }
    return now - this.#firstAt >= FORCE_AFTER_MS ? 'force' : 'nothing';
  }
}

export interface StopHandlers {
  readonly stop: () => void;
  readonly force: (signal: StopSignal) => void;
}

/** Listens until the returned function is called. */
export function onStopSignals(handlers: StopHandlers): () => void {
  const policy = new StopPolicy();
  const heard = (signal: StopSignal): void => {
    const wish = policy.heard(performance.now());
    if (wish === 'stop') handlers.stop();
    if (wish === 'force') handlers.force(signal);
  };
  const signals: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];
  for (const signal of signals) process.on(signal, heard);
  return () => {
    for (const signal of signals) process.off(signal, heard);
  };
}
