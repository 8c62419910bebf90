/**
 * A claim that waits for tasks. It has one signal for every reason to end the wait, because thousands of claims wait at a
 * time.
 */
export class WaitingClaim {
  readonly n: number;
  #control = new AbortController();
  #stopped = false;
  /** Settles when its tasks have been sent or released. */
  over: Promise<unknown> | undefined;

  constructor(n: number) {
    this.n = n;
  }

  /** Nobody wants its answer any more. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  stop(): void {
    this.#stopped = true;
    this.end();
  }

  /** Begins a wait; the signal comes with its end. */
  begin(): AbortSignal {
    if (this.#control.signal.aborted && !this.#stopped) this.#control = new AbortController();
    return this.#control.signal;
  }

  /** Ends this wait; another one may begin. */
  end(): void {
    this.#control.abort();
  }
}
