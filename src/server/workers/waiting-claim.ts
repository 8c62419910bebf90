/** A question for work that waits for its answer. One signal serves for all that ends the wait: thousands of them wait at a time. */
export class WaitingClaim {
  readonly n: number;
  #control = new AbortController();
  #stopped = false;
  /** Settles when what it was granted has been told or given back. */
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

  /** A wait begins; the signal comes with its end. */
  begin(): AbortSignal {
    if (this.#control.signal.aborted && !this.#stopped) this.#control = new AbortController();
    return this.#control.signal;
  }

  /** This wait ends; another one may begin. */
  end(): void {
    this.#control.abort();
  }
}
