import type { ServerResponse } from 'node:http';

/** Requests that were let in and are being answered. The end of a server waits for them, so that nobody has to guess what was done. */
export class InFlightRequests {
  readonly #open = new Set<ServerResponse>();
  #onEmpty = (): void => {};

  begin(response: ServerResponse): void {
    this.#open.add(response);
    response.once('close', () => this.end(response));
  }

  /** It is answered, or lasts for as long as its caller likes. */
  end(response: ServerResponse): void {
    this.#open.delete(response);
    if (this.#open.size === 0) this.#onEmpty();
  }

  /** When all are answered, or so much time has passed. */
  async drained(withinMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, withinMs);
      this.#onEmpty = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }
}
