import type { ReadStream, WriteStream } from 'node:tty';
import type { Size } from './render/render-frame.ts';

/** Shows frames and reads keys. */
export interface Terminal {
  readonly size: () => Size;
  readonly write: (text: string) => void;
  /** Takes over the screen and reads single keys. */
  enter(): void;
  /** Restores the screen; does nothing when it is restored already. */
  leave(): void;
  /** Restores the screen and suspends this process, until the shell continues it. */
  suspend(): void;
  listen(heard: TerminalListener): () => void;
}

export interface TerminalListener {
  readonly typed: (text: string) => void;
  readonly resized: () => void;
  /** The process was continued after a suspend. */
  readonly resumed: () => void;
  /** The terminal is gone. */
  readonly ended: () => void;
}

/** The alternate screen, no cursor, no automatic line wrap. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';

/** The size of a terminal that reports none. */
const USUAL: Size = { columns: 80, rows: 24 };

/** A signal to this process has arrived by then. */
const STOPPED_MS = 50;

export class RealTerminal implements Terminal {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  #entered = false;
  #resumed = (): void => {};
  /** Restores the terminal however the process ends. */
  readonly #atExit = (): void => this.leave();

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input;
    this.#output = output;
  }

  readonly size = (): Size => ({
    columns: this.#output.columns || USUAL.columns,
    rows: this.#output.rows || USUAL.rows,
  });

  /** Writes nothing while the screen is not ours. */
  readonly write = (text: string): void => {
    if (this.#entered && text !== '') this.#output.write(text);
  };

  /** Also when entered already: a shell may have changed the terminal in between. */
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
    // To the whole process group, as the terminal does: a shell waits for all of it.
    process.kill(0, 'SIGTSTP');
    // Without a shell nothing was suspended.
    setTimeout(() => this.#resumed(), STOPPED_MS);
  }

  listen({ typed, resized, resumed, ended }: TerminalListener): () => void {
    const input = this.#input.setEncoding('utf8');
    input.on('data', typed);
    input.on('end', ended);
    // The terminal is gone, and writes to it fail from now on.
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
