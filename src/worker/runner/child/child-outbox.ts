import { LOG_RESERVE, logCost, MAX_LOG_BYTES, STREAMS, type Stream } from '../../../core/task/log.ts';
import { LINE_COST, WINDOW } from './flow-control.ts';
import type { ChildOutput, Ending, FromChild } from './messages.ts';

/** The worker keeps to the bound by itself. A little more is sent, so that it never keeps less because of how lines are measured here. */
const MOST = MAX_LOG_BYTES + LOG_RESERVE;
/** Dropped lines are told of so many bytes at a time, by a handler that never yields to the loop. */
const DROPPED_BATCH = 64 * 1024;

/**
 * The messages of a child about its run, in order. A line leaves at once: whatever ends this process in its next moment, the worker has
 * it. That costs either side 3 µs a line. The worker acknowledges what it has stored; beyond the window a writer that can wait
 * should. More than one attempt may log at all is dropped and counted. Progress and counts leave at once too, and then once a turn.
 */
export class ChildOutbox {
  readonly #send: (message: FromChild) => void;
  /** Called when there is room again after `full`. */
  readonly #onRoom: () => void;
  #run = 0;
  #room = WINDOW;
  /** What all lines of the run take of the bound. */
  #said = 0;
  #capped = false;
  #dropped = 0;
  #droppedBytes = 0;
  #progress: string | undefined;
  #planned: NodeJS.Immediate | undefined;

  constructor(send: (message: FromChild) => void, onRoom: () => void) {
    this.#send = send;
    this.#onRoom = onRoom;
  }

  /** A writer that can wait should wait. */
  get full(): boolean {
    return this.#room < WINDOW / 2;
  }

  /** All that follows belongs to this run; the worker has read everything from before. */
  begin(run: number): void {
    this.flush();
    this.#run = run;
    this.#reset();
  }

  line(stream: Stream, text: string): void {
    const bytes = logCost(text);
    if (this.#capped || this.#said + bytes > MOST) {
      this.#drop(bytes);
      return;
    }
    const cost = text.length + LINE_COST;
    this.#said += bytes;
    this.#room -= cost;
    this.#send({ type: 'output', run: this.#run, lines: [STREAMS.indexOf(stream), text], cost });
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
    if (wasFull && !this.full) this.#onRoom();
  }

  /** Sends what is still to be told. */
  flush(): void {
    if (this.#progress !== undefined || this.#dropped > 0) this.#send({ type: 'output', ...this.#rest() });
  }

  /** Sends the last message of the run. */
  end(ending: Pick<Ending, 'ended' | 'littered'>): void {
    this.#send({ type: 'ended', ...this.#rest(), ...ending });
    this.#run = 0;
    this.#reset();
  }

  #reset(): void {
    this.#room = WINDOW;
    this.#said = 0;
    this.#capped = false;
  }

  #drop(bytes: number): void {
    this.#capped = true;
    this.#dropped++;
    this.#droppedBytes += bytes;
    if (this.#droppedBytes >= DROPPED_BATCH) this.flush();
    else this.#plan();
  }

  #plan(): void {
    if (this.#planned !== undefined) return;
    this.#planned = setImmediate(() => {
      this.#planned = undefined;
      this.flush();
    });
    this.flush();
  }

  #rest(): ChildOutput {
    const output: ChildOutput = {
      run: this.#run,
      lines: [],
      cost: 0,
      ...(this.#dropped > 0 ? { dropped: [this.#dropped, this.#droppedBytes] as const } : {}),
      ...(this.#progress === undefined ? {} : { progress: this.#progress }),
    };
    this.#dropped = this.#droppedBytes = 0;
    this.#progress = undefined;
    return output;
  }
}
