/** The log of a task: read from its beginning and followed, over as many connections as needed. */

import { Client } from '../../../src/client/client.ts';
import type { AnswerOf } from '../../../src/protocol/routes.ts';
import { ownFetch } from '../api.ts';
import { PLAIN, parseAnsi, type TextStyle } from '../model/ansi.ts';
import { Signal } from './signal.ts';

type Line = AnswerOf<'readLog'>['lines'][number];

export interface LogLine extends Line {
  /** The style in which the line before it has ended. */
  readonly styleBefore: TextStyle;
}

export interface LogState {
  readonly lines: readonly LogLine[];
  /** Older lines that are no longer shown. */
  readonly dropped: number;
  /** Lines that were written beyond the bound of the log, and are not kept anywhere. */
  readonly lost: number;
  readonly state: 'reading' | 'ended' | 'failed';
  readonly error: unknown;
}

/** Older lines are dropped; `leasehold tasks log` has all of them. */
const MAX_LINES = 50_000;
const BATCH_MS = 100;

// A client of its own, because a broken log says nothing about the connection of the feed.
const logs = new Client({ url: location.origin, fetch: ownFetch, streamPatienceMs: 24 * 3_600_000 });

export class TaskLog {
  readonly state = new Signal<LogState>({ lines: [], dropped: 0, lost: 0, state: 'reading', error: undefined });
  readonly #end = new AbortController();
  readonly #id: string;
  #batch: LogLine[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #style: TextStyle = PLAIN;
  #last: string | undefined;

  constructor(id: string) {
    this.#id = id;
    void this.#read();
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#timer);
  }

  /** Reads on: a task that was run again writes more. */
  again(): void {
    if (this.state.value.state === 'reading') return;
    this.state.update((state) => ({ ...state, state: 'reading', error: undefined }));
    void this.#read();
  }

  async #read(): Promise<void> {
    try {
      for await (const { event, data, id } of logs.stream('readLog', {
        params: { id: this.#id },
        last: this.#last,
        signal: this.#end.signal,
      })) {
        this.#last = id ?? this.#last;
        if (event === undefined || event === 'message' || event === 'line' || event === 'log')
          this.#add(JSON.parse(data) as Line);
      }
      this.#flush();
      this.state.update((state) => ({ ...state, state: 'ended' }));
    } catch (error) {
      if (!this.#end.signal.aborted) this.state.update((state) => ({ ...state, state: 'failed', error }));
    }
  }

  #add(line: Line): void {
    if (typeof line.text !== 'string') return;
    this.#batch.push({ ...line, styleBefore: this.#style });
    // Only an escape can change the style of the lines that follow.
    if (line.text.includes('\u001b')) this.#style = parseAnsi(line.text, this.#style).after;
    this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#batch.length === 0) return;
    const fresh = this.#batch;
    this.#batch = [];
    this.state.update((state) => {
      const lines = [...state.lines, ...fresh];
      const over = Math.max(0, lines.length - MAX_LINES);
      const lost = fresh.reduce((sum, line) => sum + (line.dropped ?? 0), state.lost);
      return { ...state, lines: over > 0 ? lines.slice(over) : lines, dropped: state.dropped + over, lost };
    });
  }
}
