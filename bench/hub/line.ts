/** Questions and answers between the bench and a process of a scene, over IPC. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { keep } from '../processes.ts';

interface Question {
  readonly n: number;
  readonly ask: string;
  readonly args: unknown;
}

interface Answer {
  readonly re: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** What a process can be asked; each answer can be cloned. */
// oxlint-disable-next-line typescript/no-explicit-any -- each takes what its own side of the line says
export type Verbs = Readonly<Record<string, (args: any) => unknown>>;

/** The side of the process: answers until it is killed. */
export function answerAll(verbs: Verbs): void {
  process.on('disconnect', () => process.exit(1)); // the bench is gone: leave nothing behind
  process.on('message', ({ n, ask, args }: Question) => {
    void (async (): Promise<Answer> => {
      try {
        return { re: n, value: await verbs[ask]?.(args) };
      } catch (error) {
        return { re: n, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
      }
    })().then((answer) => process.send?.(answer));
  });
}

/** The side of the bench. */
export class Helper<V extends Verbs> {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #gone: Promise<void>;
  #asked = 0;

  /** `file`: of a module in this folder. */
  constructor(file: string, args: object, execArgv: readonly string[] = []) {
    const path = fileURLToPath(new URL(file, import.meta.url));
    this.#process = fork(path, [JSON.stringify(args)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [...execArgv, '--disable-warning=ExperimentalWarning'],
    });
    keep(this.#process);
    // Of one that was killed while it was asked: who asks hears of its end.
    this.#process.on('error', () => {});
    this.#process.on('message', ({ re, value, error }: Answer) => {
      const waiting = this.#waiting.get(re);
      this.#waiting.delete(re);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(`${file}: ${error}`));
    });
    this.#gone = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        for (const { reject } of this.#waiting.values()) reject(new Error(`${file} ended (${signal ?? code})`));
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async ask<K extends keyof V & string>(ask: K, ...args: Parameters<V[K]>): Promise<Awaited<ReturnType<V[K]>>> {
    if (!this.#process.connected) throw new Error(`${ask}: that process has ended`);
    const n = ++this.#asked;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(n, waiting);
    this.#process.send({ n, ask, args: args[0] } satisfies Question);
    return (await waiting.promise) as Awaited<ReturnType<V[K]>>;
  }

  /** As a machine that loses its power. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#gone;
  }
}
