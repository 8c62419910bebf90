/** The claim that is under way, and whether another one may follow it. */
export class ClaimControl {
  #current: AbortController | undefined;
  readonly #stop = new AbortController();

  get pending(): boolean {
    return this.#current !== undefined;
  }

  get stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  get stopSignal(): AbortSignal {
    return this.#stop.signal;
  }

  begin(): AbortSignal {
    this.#current = new AbortController();
    return this.#current.signal;
  }

  finish(): void {
    this.#current = undefined;
  }

  /** Makes a waiting claim return at once. */
  interrupt(): void {
    this.#current?.abort();
  }

  stop(): void {
    this.#stop.abort();
    this.interrupt();
  }
}
