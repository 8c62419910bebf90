/** The claim that is under way, and whether another one may follow it. */
export class ClaimControl {
  #current: AbortController | undefined;
  #stopped = false;

  get pending(): boolean {
    return this.#current !== undefined;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  begin(): AbortSignal {
    this.#current = new AbortController();
    return this.#current.signal;
  }

  finish(): void {
    this.#current = undefined;
  }

  /** The claim that waits comes back at once. */
  interrupt(): void {
    this.#current?.abort();
  }

  stop(): void {
    this.#stopped = true;
    this.interrupt();
  }
}
