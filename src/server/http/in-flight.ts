import type { ServerResponse } from 'node:http';

/**
 * Requests that were accepted and are not answered yet. The server waits for them before it ends, so that no caller has to
 * guess what was done.
 */
export class InFlightRequests {
  readonly #open = new Set<ServerResponse>();
  #onEmpty = (): void => {};

  begin(response: ServerResponse): void {
    this.#open.add(response);
    response.once('close', () => this.end(response));
  }

  /** The response is complete, or is a stream, which nobody waits for. */
  end(response: ServerResponse): void {
    this.#open.delete(response);
    if (this.#open.size === 0) this.#onEmpty();
  }

  /** Resolves when all are answered, or after so much time. */
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
