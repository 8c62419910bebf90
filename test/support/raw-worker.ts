/** A worker as somebody hostile, broken or foreign would write it: it says what it is told, and shows what it hears. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ErrorBody } from '../../src/core/errors.ts';
import { type LeaseProof, WORKER_PATH } from '../../src/protocol/frames.ts';

/** Anything that a hub says, read without a doubt. */
export interface Heard {
  readonly type: string;
  readonly re?: number;
  readonly leaseMs?: number;
  readonly task?: number;
  readonly error?: ErrorBody;
  readonly enabled?: boolean;
  readonly leftOut?: readonly string[];
  readonly value?: any; // oxlint-disable-line typescript/no-explicit-any -- what came over the wire
}

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

export interface Greeting {
  readonly name: string;
  readonly secret?: unknown;
  readonly incarnation?: string;
  readonly tags?: readonly string[];
  readonly handlers?: readonly string[];
  readonly queues?: readonly string[];
  readonly slots?: number;
  readonly priority?: number;
  readonly holding?: readonly unknown[];
  readonly release?: unknown;
}

export function greeting({ name, incarnation = randomUUID(), ...rest }: Greeting): object {
  return { type: 'connect', name, incarnation, slots: 8, tags: [], handlers: ['echo'], holding: [], ...rest };
}

export class RawWorker {
  readonly socket: WebSocket;
  readonly closed: Promise<Closed>;
  readonly heard: Heard[] = [];
  /** Of each message that came. */
  readonly frames: number[] = [];
  #numbers = 0;
  #looking = new Set<() => void>();
  #over = false;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('message', (data: Buffer) => {
      this.frames.push(data.length);
      const said = JSON.parse(data.toString()) as Heard | Heard[];
      this.heard.push(...(Array.isArray(said) ? said : [said]));
      this.#look();
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', (code: number, reason: Buffer) => {
        this.#over = true;
        this.#look();
        resolve({ code, reason: reason.toString() });
      });
    });
  }

  /** Connected, and not greeted. */
  static async dial(address: string, headers: Readonly<Record<string, string>> = {}): Promise<RawWorker> {
    const socket = new WebSocket(address.replace(/^http/, 'ws') + WORKER_PATH, { perMessageDeflate: false, headers });
    const worker = new RawWorker(socket);
    await once(socket, 'open');
    return worker;
  }

  say(message: unknown): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** The first message that fits, of those that came and those that come. */
  async hear(fits: (said: Heard) => boolean): Promise<Heard> {
    const found = Promise.withResolvers<Heard>();
    const look = (): void => {
      const said = this.heard.find(fits);
      if (said !== undefined) found.resolve(said);
      else if (this.#over) found.reject(new Error('the connection ended before that was said'));
    };
    this.#looking.add(look);
    look();
    try {
      return await found.promise;
    } finally {
      this.#looking.delete(look);
    }
  }

  async greet(given: Greeting): Promise<Heard> {
    this.say(greeting(given));
    return this.hear(({ type }) => type === 'connect_ok' || type === 'connect_rejected');
  }

  /** Let in, or the test fails. */
  async enter(given: Greeting): Promise<void> {
    const said = await this.greet(given);
    assert.equal(said.type, 'connect_ok', shown(said));
  }

  /** Refused, and cut off. */
  async refused(given: Greeting): Promise<ErrorBody> {
    const said = await this.greet(given);
    assert.equal(said.type, 'connect_rejected', shown(said));
    const { code } = await this.closed;
    assert.equal(code, 1008);
    return said.error as ErrorBody;
  }

  number(): number {
    return ++this.#numbers;
  }

  async ask(type: string, fields: object = {}, n = this.number()): Promise<Heard> {
    this.say({ type, n, ...fields });
    return this.hear(({ re }) => re === n);
  }

  /** What was answered, or the test fails. */
  async told(type: string, fields: object = {}): Promise<Heard['value']> {
    const said = await this.ask(type, fields);
    assert.equal(said.type, 'ok', shown(said));
    return said.value;
  }

  /** Why it was refused. */
  async denied(type: string, fields: object = {}): Promise<ErrorBody> {
    const said = await this.ask(type, fields);
    assert.equal(said.type, 'refused', shown(said));
    return said.error as ErrorBody;
  }

  async claim(max = 1, waitMs = 0): Promise<readonly (LeaseProof & { readonly id: string; readonly tries: number })[]> {
    return this.told('task_claim', { max, waitMs });
  }

  async claimOne(): Promise<LeaseProof & { readonly id: string; readonly tries: number }> {
    const [one, ...more] = await this.claim();
    assert.ok(one !== undefined && more.length === 0, 'one task was there');
    return one;
  }

  /** Whatever was sent has been heard by the hub: frames come in order. */
  async quiet(): Promise<void> {
    await this.told('cancels');
  }

  async hangUp(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }

  #look(): void {
    for (const look of this.#looking) look();
  }
}

export function proofOf({ task, attempt, token }: LeaseProof): LeaseProof {
  return { task, attempt, token };
}

const shown = (said: Heard): string => JSON.stringify(said).slice(0, 500);
