import type { WebSocket } from 'ws';

/** In UTF-16 units. */
const MAX_UNREAD_UNITS = 1024 * 1024;

/** What a request asks of the send buffer before work is done for it. */
export type SendRoom = Pick<SendBuffer, 'isFull' | 'onFull' | 'expect' | 'room'>;

/** For HTTP, where one request has one answer. */
export const UNBOUNDED: SendRoom = {
  isFull: false,
  onFull: () => () => {},
  expect: () => {},
  room: () => Promise.resolve(),
};

/**
 * Messages that are sent and not yet read by the other side. While there are too many, the buffer is full: no more work is
 * done for this worker, and nothing is claimed for it.
 */
export class SendBuffer {
  readonly #socket: WebSocket;
  readonly #framesOf: (texts: readonly string[]) => Iterable<string>;
  readonly #onRoom: () => void;
  #unsent: string[] = [];
  #unsentUnits = 0;
  #expectedUnits = 0;
  /** Created on demand: of thousands of connections hardly one is ever full. */
  #listeners: Set<() => void> | undefined;
  #waiting: Set<() => void> | undefined;

  constructor(
    socket: WebSocket,
    { framesOf, onRoom }: { framesOf: (texts: readonly string[]) => Iterable<string>; onRoom: () => void },
  ) {
    this.#socket = socket;
    this.#framesOf = framesOf;
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#unsentUnits + this.#expectedUnits + this.#socket.bufferedAmount > MAX_UNREAD_UNITS;
  }

  /** Calls back when the buffer becomes full, at once if it is full now. Returns a function that stops this. */
  onFull(listener: () => void): () => void {
    if (this.isFull) listener();
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => void this.#listeners?.delete(listener);
  }

  /** Messages of one turn of the event loop leave together. */
  send(text: string): void {
    this.#unsentUnits += text.length;
    if (this.#unsent.push(text) === 1) setImmediate(() => this.#flush());
    this.#notify();
  }

  /** Announces units that will be sent within this turn, so that other senders count them. */
  expect(units: number): void {
    this.#expectedUnits += units;
    setImmediate(() => {
      this.#expectedUnits -= units;
    });
    this.#notify();
  }

  /** Resolves when there is room, or when the signal comes. */
  async room(signal: AbortSignal): Promise<void> {
    if (!this.isFull || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting ??= new Set();
    this.#waiting.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#waiting.delete(resolve);
  }

  #flush(): void {
    const texts = this.#unsent;
    this.#unsent = [];
    this.#unsentUnits = 0;
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    for (const frame of this.#framesOf(texts)) this.#socket.send(frame, () => this.#written());
    this.#written();
  }

  #written(): void {
    this.#notify();
    this.#onRoom();
  }

  #notify(): void {
    const heard = this.isFull ? this.#listeners : this.#waiting;
    for (const listener of heard ?? []) listener();
  }
}
