import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { childFile } from '../support/leasehold.ts';

/** What a child tells its test, over IPC. */
export interface Word {
  readonly word: string;
  readonly [detail: string]: unknown;
}

export interface ChildOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** A command that runs the child in its own place, such as `unshare`. */
  readonly wrapper?: readonly string[];
}

/** A real process of a chaos test. It ends with its test, and by itself when the test's process is gone. */
export class Child {
  readonly process: ChildProcess;
  readonly ended: Promise<void>;
  readonly #heard: Word[] = [];
  #waiting: (() => void)[] = [];
  #over = false;
  #errors = '';

  constructor(program: URL, args: readonly string[], { environment = {}, wrapper = [] }: ChildOptions = {}) {
    const command = [...wrapper, process.execPath];
    this.process = fork(childFile(program), args, {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      env: { ...process.env, ...environment },
      execPath: command[0],
      execArgv: command.slice(1),
    });
    this.process.stderr?.on('data', (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk).slice(-4000);
    });
    this.process.on('error', (error) => {
      this.#errors += error.message;
    });
    this.process.on('message', (word) => {
      this.#heard.push(word as Word);
      this.#wake();
    });
    // `close`, not `exit`: by then everything that was said has been heard.
    this.ended = new Promise((resolve) => {
      this.process.once('close', () => {
        this.#over = true;
        this.#wake();
        resolve();
      });
    });
  }

  get alive(): boolean {
    return !this.#over;
  }

  get errors(): string {
    return this.#errors;
  }

  /** Whether the child has said this word already. */
  said(word: string): boolean {
    return this.#heard.some((heard) => heard.word === word);
  }

  /** The first message with this word; refused when the child ends without it. */
  async hear(word: string): Promise<Word> {
    for (;;) {
      const found = this.#heard.find((heard) => heard.word === word);
      if (found !== undefined) return found;
      if (this.#over) {
        const how = this.process.signalCode ?? `code ${this.process.exitCode}`;
        throw new Error(`a child ended with ${how} before it said "${word}":\n${this.#errors}`);
      }
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
  }

  tell(word: Word): void {
    if (this.process.connected) this.process.send(word);
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}

/** Starts children that are gone, to the last one, when the test ends in whatever way. */
export class Nursery {
  readonly #children = new Set<Child>();

  readonly #options: ChildOptions;

  constructor(t: TestContext, options: ChildOptions = {}) {
    this.#options = options;
    t.after(async () => {
      await Promise.all([...this.#children].map((child) => child.kill()));
    });
  }

  start(program: URL, args: readonly string[]): Child {
    const child = new Child(program, args, this.#options);
    this.#children.add(child);
    void child.ended.then(() => this.#children.delete(child));
    return child;
  }
}

/** A folder that is gone after the test. */
export function scratch(t: TestContext, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `leasehold-${name}-`));
  // Those who work there may write until they are gone, too.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return folder;
}
