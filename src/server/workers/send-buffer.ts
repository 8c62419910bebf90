import type { WebSocket } from 'ws';

/** In UTF-16 units. */
const MAX_UNREAD_UNITS = 1024 * 1024;

/** What is asked of a connection before something is looked into for it. */
export type SendRoom = Pick<SendBuffer, 'isFull' | 'onFull' | 'expect' | 'room'>;

/** Of an answer that somebody waits for by itself: over HTTP one request has one answer. */
export const UNBOUNDED: SendRoom = {
  isFull: false,
  onFull: () => () => {},
  expect: () => {},
  room: () => Promise.resolve(),
};

/**
 * What is said over a connection and not taken yet. While there is too much of it, the connection is full: nothing more should be
 * looked into for who is at its other end, and nothing be claimed for it.
 */
export class SendBuffer {
  readonly #socket: WebSocket;
  readonly #framesOf: (texts: readonly string[]) => Iterable<string>;
  readonly #onRoom: () => void;
  #unsent: string[] = [];
  #unsentUnits = 0;
  #expectedUnits = 0;
  /** Made when somebody listens: of thousands of connections hardly one is ever full. */
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

  /** Calls back when it is full next, at once if it is now; answers how to stop that. */
  onFull(listener: () => void): () => void {
    if (this.isFull) listener();
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => void this.#listeners?.delete(listener);
  }

  /** What is said in one turn leaves together. */
  send(text: string): void {
    this.#unsentUnits += text.length;
    if (this.#unsent.push(text) === 1) setImmediate(() => this.#flush());
    this.#notify();
  }

  /** So much will be said before this turn is over: others who want to say something must know. */
  expect(units: number): void {
    this.#expectedUnits += units;
    setImmediate(() => {
      this.#expectedUnits -= units;
    });
    this.#notify();
  }

  /** Resolves when there is room, or when nobody waits for it any more. */
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
