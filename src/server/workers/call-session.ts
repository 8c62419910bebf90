import { NAME_SILENT_MS } from '../../core/placement/name-hold.ts';
import type { NameHolder } from './worker-names.ts';

/** A worker that makes calls instead of holding a connection. It is there as long as it calls. */
export class CallSession implements NameHolder {
  readonly holder: string;
  readonly roams = true;
  entered = false;
  readonly replaced: () => void;
  readonly #now: () => number;
  #calls = 0;
  #heardAt: number;
  #signedOff = false;

  constructor(holder: string, now: () => number, replaced: () => void = () => {}) {
    this.holder = holder;
    this.replaced = replaced;
    this.#now = now;
    this.#heardAt = now();
  }

  readonly isSilent = (): boolean =>
    this.#calls === 0 && (this.#signedOff || this.#now() - this.#heardAt > NAME_SILENT_MS);

  /** It is heard from until the call is answered: a claim may wait for a minute. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++;
    this.#signedOff = false;
    try {
      return await call();
    } finally {
      this.#calls--;
      this.#heardAt = this.#now();
    }
  }

  /** It said that it goes. */
  signOff(): void {
    this.#signedOff = true;
  }
}
