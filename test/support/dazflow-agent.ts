/** A dazflow agent as somebody would write it who knows only its protocol: one JSON object a message. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { DazflowNotice, DazflowTask } from '../../src/protocol/dazflow.ts';
import type { Closed } from './raw-worker.ts';

type Told<T extends DazflowNotice['type']> = Extract<DazflowNotice, { type: T }>;

export interface PlainGreeting {
  readonly name: string;
  readonly secret: unknown;
  readonly version?: unknown;
  readonly credentials?: unknown;
}

export class PlainAgent {
  readonly socket: WebSocket;
  readonly closed: Promise<Closed>;
  /** All that was said to it. */
  readonly told: DazflowNotice[] = [];
  readonly #unheard: DazflowNotice[] = [];
  readonly #waiting: { readonly type: string; readonly hear: (said: DazflowNotice | undefined) => void }[] = [];
  #over = false;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('message', (data: Buffer) => {
      const said = JSON.parse(data.toString()) as DazflowNotice;
      this.told.push(said);
      const at = this.#waiting.findIndex(({ type }) => type === said.type);
      if (at === -1) this.#unheard.push(said);
      else this.#waiting.splice(at, 1)[0]?.hear(said);
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', (code: number, reason: Buffer) => {
        this.#over = true;
        for (const { hear } of this.#waiting.splice(0)) hear(undefined);
        resolve({ code, reason: reason.toString() });
      });
    });
  }

  static async dial(address: string, path = '/ws/agent'): Promise<PlainAgent> {
    const socket = new WebSocket(address.replace(/^http/, 'ws') + path, { perMessageDeflate: false });
    const agent = new PlainAgent(socket);
    await once(socket, 'open');
    return agent;
  }

  /** Let in, or the test fails. */
  static async enter(address: string, greeting: PlainGreeting): Promise<PlainAgent> {
    const agent = await PlainAgent.dial(address);
    agent.say({ type: 'connect', version: '1.0.0', credentials: [], ...greeting });
    await agent.hear('connect_ok');
    return agent;
  }

  say(message: unknown): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** The next message of that kind; those before it stay for others to hear. */
  async hear<T extends DazflowNotice['type']>(type: T): Promise<Told<T>> {
    const at = this.#unheard.findIndex((said) => said.type === type);
    if (at !== -1) return this.#unheard.splice(at, 1)[0] as Told<T>;
    const said = this.#over ? undefined : await new Promise((hear) => void this.#waiting.push({ type, hear }));
    if (said !== undefined) return said as Told<T>;
    throw new Error(`the connection ended without ${type}: ${JSON.stringify(this.told).slice(0, 500)}`);
  }

  /** The task that it is offered next, in the form of the document. */
  async offered(): Promise<DazflowTask> {
    const said = await this.hear('task_available');
    assert.ok('task' in said, JSON.stringify(said));
    return said.task;
  }

  /** Takes what it is offered next. */
  async take(): Promise<DazflowTask> {
    const { id } = await this.offered();
    this.say({ type: 'task_claim', task_id: id });
    const { task_id: claimed, task } = await this.hear('task_claimed_ok');
    assert.equal(claimed, id);
    return task;
  }

  /** Whatever was sent before has been heard: messages come in order. */
  async quiet(): Promise<void> {
    this.say({ type: 'heartbeat' });
    await this.hear('heartbeat_ack');
  }

  /** And looked into. */
  async answered(): Promise<void> {
    this.say({ type: 'task_claim', task_id: 'task_none' });
    await this.hear('task_claimed_fail');
  }

  async hangUp(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }
}
