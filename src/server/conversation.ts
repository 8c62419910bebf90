import type { WebSocket } from 'ws';
import { type EngineError, fault } from '../core/errors.ts';
import { Asked, exceeds, framesOf, MAX_ANSWER_BYTES, MAX_FRAME_DEPTH, type Said } from '../protocol/frames.ts';
import { checked } from './asking.ts';
import { parseBody } from './json-body.ts';

export interface ConversationOptions {
  readonly socket: WebSocket;
  /** Answers one question; rejects with what is refused. */
  readonly answer: (asked: Asked) => Promise<unknown>;
  /** What is told of an error. */
  readonly told: (error: unknown) => EngineError;
  /** How often it is asked whether somebody is there; default every ten seconds. */
  readonly pingMs?: number | undefined;
  /** What came is no message: the connection ends. */
  readonly onNonsense: (error: unknown) => void;
}

/** One message, and whether it came as bytes. */
export type Frame = readonly [data: Buffer, isBinary: boolean];

const PING_MS = 10_000;
/** Who has not answered so many when the next is due is gone. Counted, not timed: a loop that stood still has heard nothing either. */
const MAX_UNHEARD = 2;
/** Answers that a worker has not taken; beyond it nothing more is looked into for it. */
const MAX_UNREAD_UNITS = 1024 * 1024;
/** Questions that are looked into at once: as many as the engine puts into one commit. */
const MAX_OPEN = 250;
/** Of those whose answers can be large. */
const MAX_OPEN_READS = 8;
const READS: ReadonlySet<Asked['type']> = new Set([
  'task_claim',
  'checkpoints',
  'waited',
  'results',
  'dependencies',
  'reusable',
]);

/**
 * What is said over one connection. Questions are looked into in the order in which they came, some at a time; nothing is read
 * while there are more, or while answers lie that the worker has not taken. So what a worker can cost is bounded, whatever it does.
 */
export class Conversation {
  readonly #options: ConversationOptions;
  /** Read, and not begun; those before `#at` are. */
  #waiting: Asked[] = [];
  #at = 0;
  #open = 0;
  #openReads = 0;
  #unsaid: string[] = [];
  #unsaidUnits = 0;
  #unheard = 0;

  constructor(options: ConversationOptions) {
    this.#options = options;
    const { socket, pingMs = PING_MS } = options;
    const beat = setInterval(() => this.#beat(), pingMs);
    beat.unref();
    socket.on('pong', () => this.#heard());
    socket.on('message', (...frame: Frame) => this.hear(frame));
    socket.once('close', () => {
      clearInterval(beat);
      this.#waiting = [];
    });
  }

  say(said: Said): void {
    this.#sayText(JSON.stringify(said));
  }

  hear([data, isBinary]: Frame): void {
    // Who was told that it is over has no say any more, though its words may still arrive.
    if (!this.#isOpen) return;
    this.#heard();
    try {
      if (isBinary) throw fault('INVALID_INPUT', { field: 'message', problem: 'messages are text' });
      const value = parseBody(data.toString(), MAX_FRAME_DEPTH);
      for (const one of Array.isArray(value) ? value : [value]) this.#take(one);
    } catch (error) {
      this.#options.onNonsense(error);
      this.#waiting = [];
    }
    this.#go();
  }

  get #isOpen(): boolean {
    const { socket } = this.#options;
    return socket.readyState === socket.OPEN;
  }

  /**
   * A question in a form that is not ours is refused, and the others go on: it may come from a handler that asks for something odd,
   * or from a newer worker, and would come again with every connection if this one ended.
   */
  #take(value: unknown): void {
    try {
      this.#waiting.push(checked('body', Asked, value) as Asked);
    } catch (error) {
      const { n } = (value ?? {}) as { readonly n?: unknown };
      if (!Number.isSafeInteger(n)) throw error;
      this.say({ type: 'refused', re: n as number, error: this.#options.told(error).toJSON() });
    }
  }

  /** Begins what may begin now. */
  #go(): void {
    while (this.#mayBegin()) void this.#answer(this.#waiting[this.#at++] as Asked);
    if (this.#at === this.#waiting.length) {
      this.#waiting = [];
      this.#at = 0;
    }
    const { socket } = this.#options;
    if (this.#waiting.length > 0 || this.#isFull) socket.pause();
    else if (socket.isPaused) socket.resume();
  }

  #mayBegin(): boolean {
    const next = this.#waiting[this.#at];
    if (next === undefined || this.#open >= MAX_OPEN || this.#isFull || !this.#isOpen) return false;
    return this.#openReads < MAX_OPEN_READS || !READS.has(next.type);
  }

  get #isFull(): boolean {
    return this.#unsaidUnits + this.#options.socket.bufferedAmount > MAX_UNREAD_UNITS;
  }

  async #answer(asked: Asked): Promise<void> {
    const reads = READS.has(asked.type) ? 1 : 0;
    this.#open++;
    this.#openReads += reads;
    this.#sayText(await this.#answerTo(asked));
    this.#open--;
    this.#openReads -= reads;
    this.#go();
  }

  async #answerTo(asked: Asked): Promise<string> {
    try {
      const value = await this.#options.answer(asked);
      const text = JSON.stringify({ type: 'ok', re: asked.n, value } satisfies Said);
      if (!exceeds(text, MAX_ANSWER_BYTES)) return text;
      // Sent, it would end the connection, and be asked for again on the next one.
      throw fault(
        'TOO_LARGE',
        { field: 'answer', maxBytes: MAX_ANSWER_BYTES },
        { hint: 'Ask for less at once, or let the tasks keep references to their results.' },
      );
    } catch (error) {
      return JSON.stringify({ type: 'refused', re: asked.n, error: this.#options.told(error).toJSON() } satisfies Said);
    }
  }

  /** What is said in one turn leaves together. */
  #sayText(text: string): void {
    this.#unsaidUnits += text.length;
    if (this.#unsaid.push(text) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const texts = this.#unsaid;
    this.#unsaid = [];
    this.#unsaidUnits = 0;
    if (!this.#isOpen) return;
    for (const frame of framesOf(texts)) this.#options.socket.send(frame, () => this.#go());
    this.#go();
  }

  #heard(): void {
    this.#unheard = 0;
  }

  #beat(): void {
    const { socket } = this.#options;
    if (this.#unheard++ < MAX_UNHEARD) socket.ping();
    else socket.terminate();
  }
}
