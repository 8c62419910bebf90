import { STREAMS, type Stream } from '../../../core/task/log.ts';
import { LINE_COST, WINDOW } from './flow-control.ts';
import type { ChildOutput, Ending, FromChild } from './messages.ts';

const BATCH = 64 * 1024;

/**
 * The messages of a child about its run, in order. The first one in a turn of the loop is sent at once, so that it arrives even
 * if the handler then blocks; the rest of the turn follows as one message at its end. The worker acknowledges what it has read.
 * Lines beyond the window are dropped, and a line in their place says how many.
 */
export class ChildOutbox {
  readonly #send: (message: FromChild) => void;
  /** Called when there is room again after `full`. */
  readonly #onRoom: () => void;
  #run = 0;
  #lines: (number | string)[] = [];
  #cost = 0;
  #progress: string | undefined;
  #room = WINDOW;
  #dropped = 0;
  #planned: NodeJS.Immediate | undefined;

  constructor(send: (message: FromChild) => void, onRoom: () => void) {
    this.#send = send;
    this.#onRoom = onRoom;
  }

  /** A writer that can wait should wait. */
  get full(): boolean {
    return this.#dropped > 0 || this.#room - this.#cost < WINDOW / 2;
  }

  /** All that follows belongs to this run; the worker has read everything from before. */
  begin(run: number): void {
    this.flush();
    this.#run = run;
    this.#dropped = 0;
    this.#room = WINDOW;
  }

  line(stream: Stream, text: string): void {
    const cost = text.length + LINE_COST;
    if (this.#dropped > 0 || this.#cost + cost > this.#room) {
      this.#dropped++;
      return;
    }
    this.#add(stream, text, cost);
    // A handler that never yields to the loop would fill the memory.
    if (this.#cost >= BATCH) this.flush();
    else this.#plan();
  }

  /** JSON text. Only the latest counts. */
  progress(value: string): void {
    this.#progress = value;
    this.#plan();
  }

  acknowledge(run: number, cost: number): void {
    if (run !== this.#run) return;
    const wasFull = this.full;
    this.#room += cost;
    // Lines are taken again only below half of the window: one gap with a large number reads better than a thousand small ones.
    if (this.#room - this.#cost < WINDOW / 2) return;
    this.#mark();
    if (wasFull) this.#onRoom();
  }

  flush(): void {
    if (this.#lines.length > 0 || this.#progress !== undefined) this.#send({ type: 'output', ...this.#take() });
  }

  /** Sends the last message of the run, with all lines that are left. */
  end(ending: Pick<Ending, 'ended' | 'littered'>): void {
    this.#mark();
    this.#send({ type: 'ended', ...this.#take(), ...ending });
    this.#run = 0;
    this.#room = WINDOW;
  }

  #add(stream: Stream, text: string, cost: number): void {
    this.#lines.push(STREAMS.indexOf(stream), text);
    this.#cost += cost;
  }

  #mark(): void {
    if (this.#dropped === 0) return;
    const text = `[… ${this.#dropped} lines dropped …]`;
    this.#dropped = 0;
    this.#add('system', text, text.length + LINE_COST);
    this.#plan();
  }

  #plan(): void {
    if (this.#planned !== undefined) return;
    this.#planned = setImmediate(() => {
      this.#planned = undefined;
      this.flush();
    });
    this.flush();
  }

  #take(): ChildOutput {
    const output: ChildOutput = {
      run: this.#run,
      lines: this.#lines,
      cost: this.#cost,
      ...(this.#progress === undefined ? {} : { progress: this.#progress }),
    };
    this.#room -= this.#cost;
    this.#lines = [];
    this.#cost = 0;
    this.#progress = undefined;
    return output;
  }
}
