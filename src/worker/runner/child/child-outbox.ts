import { logCost, MAX_LOG_BYTES, STREAMS, type Stream } from '../../../core/task/log.ts';
import { LINE_COST, WINDOW } from './flow-control.ts';
import type { ChildOutput, Ending, FromChild } from './messages.ts';

const BATCH = 64 * 1024;

/**
 * The messages of a child about its run, in order. The first one in a turn of the loop is sent at once, so that it arrives even
 * if the handler then blocks; the rest of the turn follows as one message at its end. The worker acknowledges what it has read.
 * Lines beyond the window wait here. As many as one attempt may log at all can wait; more are dropped and counted.
 */
export class ChildOutbox {
  readonly #send: (message: FromChild) => void;
  /** Called when there is room again after `full`. */
  readonly #onRoom: () => void;
  #run = 0;
  /** Stream and text in turn, oldest first. */
  #lines: (number | string)[] = [];
  /** The cost of `#lines` in the window, and in the log of the attempt. */
  #cost = 0;
  #held = 0;
  #progress: string | undefined;
  #room = WINDOW;
  #dropped = 0;
  #droppedBytes = 0;
  #planned: NodeJS.Immediate | undefined;

  constructor(send: (message: FromChild) => void, onRoom: () => void) {
    this.#send = send;
    this.#onRoom = onRoom;
  }

  /** A writer that can wait should wait. */
  get full(): boolean {
    return this.#room - this.#cost < WINDOW / 2;
  }

  /** All that follows belongs to this run; the worker has read everything from before. */
  begin(run: number): void {
    this.flushAll();
    this.#run = run;
    this.#room = WINDOW;
  }

  line(stream: Stream, text: string): void {
    const bytes = logCost(text);
    // Once something was dropped nothing overtakes it: the worker learns of the gap where it is.
    if (this.#dropped > 0 || this.#held + bytes > MAX_LOG_BYTES) {
      this.#dropped++;
      this.#droppedBytes += bytes;
      return;
    }
    this.#lines.push(STREAMS.indexOf(stream), text);
    this.#cost += costOf(text);
    this.#held += bytes;
    // A handler that never yields to the loop is heard all the same.
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
    this.flush();
    if (wasFull && !this.full) this.#onRoom();
  }

  /** Sends what the window has room for. */
  flush(): void {
    while (this.#lines.length > 0 && this.#room > 0) this.#sendBatch(Math.min(BATCH, this.#room));
    if (this.#progress !== undefined || (this.#dropped > 0 && this.#lines.length === 0)) this.#sendBatch();
  }

  /** Sends everything, also beyond the window: what follows must not overtake it. */
  flushAll(): void {
    while (this.#lines.length > 0 || this.#progress !== undefined || this.#dropped > 0) this.#sendBatch();
  }

  /** Sends the last message of the run, with all lines that are left. */
  end(ending: Pick<Ending, 'ended' | 'littered'>): void {
    while (this.#cost > BATCH) this.#sendBatch();
    this.#send({ type: 'ended', ...this.#take(Number.POSITIVE_INFINITY), ...ending });
    this.#run = 0;
    this.#room = WINDOW;
  }

  #plan(): void {
    if (this.#planned !== undefined) return;
    this.#planned = setImmediate(() => {
      this.#planned = undefined;
      this.flush();
    });
    this.flush();
  }

  #sendBatch(most = BATCH): void {
    this.#send({ type: 'output', ...this.#take(most) });
  }

  #take(most: number): ChildOutput {
    let cost = 0;
    let count = 0;
    while (count < this.#lines.length) {
      const text = this.#lines[count + 1] as string;
      if (count > 0 && cost + costOf(text) > most) break;
      cost += costOf(text);
      this.#held -= logCost(text);
      count += 2;
    }
    const lines = count === this.#lines.length ? this.#lines : this.#lines.slice(0, count);
    this.#lines = count === this.#lines.length ? [] : this.#lines.slice(count);
    this.#cost -= cost;
    this.#room -= cost;
    // What was dropped comes after every line that waited.
    const dropped = this.#lines.length === 0 && this.#dropped > 0;
    const output: ChildOutput = {
      run: this.#run,
      lines,
      cost,
      ...(dropped ? { dropped: [this.#dropped, this.#droppedBytes] as const } : {}),
      ...(this.#progress === undefined ? {} : { progress: this.#progress }),
    };
    if (dropped) this.#dropped = this.#droppedBytes = 0;
    this.#progress = undefined;
    return output;
  }
}

const costOf = (text: string): number => text.length + LINE_COST;
