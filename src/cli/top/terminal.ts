import type { ReadStream, WriteStream } from 'node:tty';
import type { Size } from './render/render-frame.ts';

/** Where frames go and keys come from. */
export interface Terminal {
  readonly size: () => Size;
  readonly write: (text: string) => void;
  /** Takes the screen; from now on keys come one by one. */
  enter(): void;
  /** Gives it back as it was; harmless when it was given back before. */
  leave(): void;
  /** Gives it back and stops this process, until the shell lets it go on. */
  suspend(): void;
  listen(heard: TerminalListener): () => void;
}

export interface TerminalListener {
  readonly typed: (text: string) => void;
  readonly resized: () => void;
  /** After a stop. */
  readonly resumed: () => void;
  /** Nobody can type any more. */
  readonly ended: () => void;
}

/** The other screen, no cursor, no line breaks of the terminal's own. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';

/** What a terminal that does not know its size is taken for. */
const USUAL: Size = { columns: 80, rows: 24 };

/** A signal to oneself is there by then. */
const STOPPED_MS = 50;

export class RealTerminal implements Terminal {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  #entered = false;
  #resumed = (): void => {};
  /** However the process ends, the shell gets its terminal back. */
  readonly #atExit = (): void => this.leave();

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input;
    this.#output = output;
  }

  readonly size = (): Size => ({
    columns: this.#output.columns || USUAL.columns,
    rows: this.#output.rows || USUAL.rows,
  });

  /** While somebody else has the screen nothing is written. */
  readonly write = (text: string): void => {
    if (this.#entered && text !== '') this.#output.write(text);
  };

  /** Also when it was taken before: a shell that had the terminal in between may have changed it. */
  enter(): void {
    if (!this.#entered) process.on('exit', this.#atExit);
    this.#entered = true;
    this.#input.setRawMode(true);
    this.#input.resume();
    this.#output.write(ENTER);
  }

  leave(): void {
    if (!this.#entered) return;
    this.#entered = false;
    process.off('exit', this.#atExit);
    this.#output.write(LEAVE);
    this.#input.setRawMode(false);
    this.#input.pause();
  }

  suspend(): void {
    this.leave();
    // To the whole group, as the terminal itself would: a shell waits for all of a job.
    process.kill(0, 'SIGTSTP');
    // Where there is no shell to come back from, nothing has stopped.
    setTimeout(() => this.#resumed(), STOPPED_MS);
  }

  listen({ typed, resized, resumed, ended }: TerminalListener): () => void {
    const input = this.#input.setEncoding('utf8');
    input.on('data', typed);
    input.on('end', ended);
    // The terminal went away; what is written to it fails from now on.
    input.on('error', ended);
    this.#output.on('error', ended);
    this.#output.on('resize', resized);
    this.#resumed = resumed;
    process.on('SIGCONT', resumed);
    process.on('SIGHUP', ended);
    return () => {
      input.off('data', typed).off('end', ended);
      this.#output.off('resize', resized);
      this.#resumed = () => {};
      process.off('SIGCONT', resumed);
      process.off('SIGHUP', ended);
    };
  }
}
