/** Looks into a process that was started with `--inspect`: what it keeps alive, and what it does while nobody asks for anything. */
import assert from 'node:assert/strict';
import type { Ends, Running } from '../leasehold.ts';

export const INSPECT = '--inspect=127.0.0.1:0';

/** Of the answers, what is read here. */
interface Answer {
  readonly id?: number;
  readonly error?: { readonly message: string };
  readonly result?: {
    readonly usedSize?: number;
    readonly result?: { readonly value?: unknown; readonly objectId?: string };
    readonly objects?: { readonly objectId: string };
  };
}

export class Inspected {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, (answer: Answer) => void>();
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer;
      if (answer.id !== undefined) this.#asked.get(answer.id)?.(answer);
    });
  }

  static async open(t: Ends, process: Running): Promise<Inspected> {
    const [address] = /ws:\/\/\S+/.exec(process.stderr) ?? [];
    assert.ok(address, process.stderr);
    const socket = new WebSocket(address);
    t.after(() => socket.close());
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error(`${address} does not answer`)));
    });
    return new Inspected(socket);
  }

  /** Bytes that are alive after a collection. */
  async heap(): Promise<number> {
    await this.#ask('HeapProfiler.collectGarbage');
    return (await this.#ask('Runtime.getHeapUsage')).usedSize as number;
  }

  /** How many objects with the prototype that this expression gives are alive. */
  async alive(prototype: string): Promise<number> {
    const { result } = await this.#ask('Runtime.evaluate', { expression: prototype });
    const { objects } = await this.#ask('Runtime.queryObjects', { prototypeObjectId: result?.objectId });
    const counted = await this.#ask('Runtime.callFunctionOn', {
      objectId: objects?.objectId,
      functionDeclaration: 'function () { return this.length; }',
    });
    for (const objectId of [result?.objectId, objects?.objectId])
      await this.#ask('Runtime.releaseObject', { objectId });
    return counted.result?.value as number;
  }

  /** What an expression gives, once it has settled. */
  async value(expression: string): Promise<unknown> {
    return (await this.#ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })).result?.value;
  }

  /** A process that is looked into does not end by itself. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.addEventListener('close', resolve));
    this.#socket.close();
    await closed;
  }

  async #ask(method: string, params: object = {}): Promise<NonNullable<Answer['result']>> {
    const id = ++this.#last;
    const answered = new Promise<Answer>((resolve) => this.#asked.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { error, result = {} } = await answered;
    this.#asked.delete(id);
    assert.equal(error, undefined, method);
    return result;
  }
}
