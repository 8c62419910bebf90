import type { WebSocket } from 'ws';
import type { CredentialValue } from '../../core/credential/value.ts';
import { fault } from '../../core/errors.ts';
import type { World } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import { DAZFLOW_TYPES, type DazflowNotice, DazflowRequest } from '../../protocol/dazflow.ts';
import type { Session } from '../../protocol/link.ts';
import { PeerLiveness, tickMsOf } from '../../protocol/peer-liveness.ts';
import type { AgentSession } from '../credentials/desk.ts';
import { checked } from '../http/caller.ts';
import { parseBody } from '../http/json-body.ts';
import { stackOf } from '../http/refusals.ts';
import { SendBuffer } from '../workers/send-buffer.ts';
import type { Frame } from '../workers/worker-connection.ts';
import type { DazflowAttemptParts } from './dazflow-attempt.ts';
import { DazflowWorker } from './dazflow-worker.ts';

export interface DazflowConnectionOptions {
  readonly socket: WebSocket;
  readonly session: Session;
  readonly world: World;
  readonly log: Log;
  /** It came with its secret in the address. */
  readonly byPath: boolean;
  readonly name: string;
  readonly placeOf?: DazflowAttemptParts['placeOf'];
  /** The credentials that it is given. */
  readonly credentials?: AgentSession | undefined;
  /** An agent that is silent for so long is offline. */
  readonly offlineMs: number;
  /** The data is not a message: the connection ends. */
  readonly onMalformed: (error: unknown) => void;
  readonly onSilence: () => void;
}

const BEAT_MS = 10_000;
/** Messages that wait to be handled; beyond it nothing is read. */
const MAX_WAITING = 100;
/** The silence is counted in parts, not timed: a process that was stopped has heard nothing either. */
const PARTS = 4;

/**
 * The connection of a dazflow agent. Any message counts as a heartbeat; the answers to pings keep its lease. Messages about
 * tasks are handled one by one, in the order of their arrival.
 */
export class DazflowConnection {
  readonly #options: DazflowConnectionOptions;
  readonly #buffer: SendBuffer;
  readonly #worker: DazflowWorker;
  readonly #liveness = new PeerLiveness();
  readonly #waiting: DazflowRequest[] = [];
  #working: Promise<void> | undefined;
  #cancelPing = (): void => {};
  #cancelBeat = (): void => {};
  #cancelWatch = (): void => {};

  constructor(options: DazflowConnectionOptions) {
    this.#options = options;
    const { socket, session, world, log, byPath, name, placeOf } = options;
    this.#buffer = new SendBuffer(socket, { framesOf: (texts) => texts, onRoom: () => this.#flow() });
    this.#worker = new DazflowWorker({
      session,
      world,
      log,
      byPath,
      name,
      placeOf,
      buffer: this.#buffer,
      send: (notice) => this.send(notice),
      isHeard: () => !this.isSilent,
    });
    socket.on('pong', () => this.#liveness.heard());
    socket.on('ping', () => this.#liveness.heard());
    socket.on('message', (...frame: Frame) => this.receive(frame));
    this.#ping();
    this.#beatAfter(Math.min(BEAT_MS, session.heartbeatMs ?? BEAT_MS));
    this.#watch(PARTS);
  }

  /** Offers tasks from here on. */
  start(): void {
    this.send({ type: 'connect_ok' });
    this.#worker.start();
    this.#options.credentials?.begin((name, value) => this.send(credentialPush(name, value)));
  }

  /** Pings are not answered: another process with the secret may take the name. */
  get isSilent(): boolean {
    return this.#liveness.isDead;
  }

  send(notice: DazflowNotice): void {
    this.#buffer.send(JSON.stringify(notice));
  }

  receive([data, isBinary]: Frame): void {
    // After the close was sent nothing counts, though frames may still arrive.
    if (!this.#isOpen) return;
    this.#liveness.heard();
    this.#watch(PARTS);
    try {
      if (isBinary) throw fault('INVALID_INPUT', { field: 'message', problem: 'messages are text' });
      this.#enqueue(parseBody(data.toString()));
    } catch (error) {
      this.#options.onMalformed(error);
    }
    this.#flow();
  }

  /** The connection is gone. Resolves when nothing more is written for it. */
  async close(): Promise<void> {
    this.#cancelPing();
    this.#cancelBeat();
    this.#cancelWatch();
    this.#options.credentials?.leave();
    this.#worker.disconnect();
    await this.#working;
    await this.#worker.close();
    await this.#options.session.beat('offline').catch(() => {});
  }

  get #isOpen(): boolean {
    const { socket } = this.#options;
    return socket.readyState === socket.OPEN;
  }

  /** Ignores messages that dazflow does not have: they may come from a newer agent. */
  #enqueue(value: unknown): void {
    const { type } = (value ?? {}) as { readonly type?: unknown };
    if (typeof type === 'string' && !DAZFLOW_TYPES.has(type)) return;
    const request = checked('body', DazflowRequest, value) as DazflowRequest;
    // Answered at once: the messages before it may take long, and an agent that hears nothing goes away.
    if (request.type === 'heartbeat') return this.send({ type: 'heartbeat_ack' });
    this.#waiting.push(request);
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  async #work(): Promise<void> {
    for (let request = this.#waiting.shift(); request !== undefined; request = this.#waiting.shift()) {
      try {
        await this.#answer(request);
      } catch (error) {
        this.#options.log.error('an agent could not be answered', { error: stackOf(error) });
      }
      this.#flow();
    }
  }

  async #answer(request: DazflowRequest): Promise<void> {
    switch (request.type) {
      case 'task_claim': {
        const task = await this.#worker.claim(request.task_id);
        if (typeof task === 'string') return this.#refuse(request.task_id, task);
        return this.send({ type: 'task_claimed_ok', task_id: request.task_id, task });
      }
      case 'task_progress': {
        const refusal = await this.#worker.log(request.task_id, request.logs ?? []);
        if (refusal !== undefined) this.send({ type: 'kill_task', task_id: request.task_id });
        return;
      }
      case 'task_complete':
        return this.#refuse(request.task_id, await this.#worker.complete(request.task_id, request.result));
      case 'task_failed':
        return this.#refuse(request.task_id, await this.#worker.fail(request.task_id, failureOf(request)));
      case 'credential_ack': {
        const { name, status, error } = request;
        const failed = status === 'failed';
        return this.#options.credentials?.ack(
          name,
          failed ? 'failed' : 'stored',
          failed ? (error ?? undefined) : undefined,
        );
      }
      case 'credentials_report':
        // The agent's word on what it has by itself proves nothing: it counts where an operator has said so.
        return this.#options.credentials?.said(request.credentials ?? []);
      case 'heartbeat':
      case 'version':
        return;
    }
  }

  #refuse(task: string, reason: string | undefined): void {
    if (reason !== undefined) this.send({ type: 'task_claimed_fail', task_id: task, reason });
  }

  /** Nothing is read while many messages wait, or while the agent does not read. */
  #flow(): void {
    const { socket } = this.#options;
    if (this.#waiting.length > MAX_WAITING || this.#buffer.isFull) socket.pause();
    else if (socket.isPaused) socket.resume();
  }

  #ping(): void {
    const { socket, session, world } = this.#options;
    this.#cancelPing = world.timers.after(
      tickMsOf(session.leaseMs),
      () => {
        if (this.#liveness.tick() && this.#isOpen) socket.ping();
        this.#ping();
      },
      { unref: true },
    );
  }

  #beatAfter(ms: number): void {
    const { session, world } = this.#options;
    this.#cancelBeat = world.timers.after(
      ms,
      () => {
        this.#beatAfter(ms);
        if (!this.isSilent) session.beat('online').catch(() => {});
      },
      { unref: true },
    );
  }

  #watch(parts: number): void {
    const { world, offlineMs, onSilence } = this.#options;
    this.#cancelWatch();
    if (parts === 0) return onSilence();
    const next = (): void => this.#watch(parts - 1);
    this.#cancelWatch = world.timers.after(offlineMs / PARTS, next, { unref: true });
  }
}

/** In both spellings: that of the document, and that of the program. */
function credentialPush(name: string, value: CredentialValue): DazflowNotice {
  const { type, data } =
    'value' in value ? { type: 'text', data: { value: value.value } } : { type: value.type, data: value.fields };
  return { type: 'credential_push', name, credential: { type, data }, data };
}

/** The failure as the store keeps it. */
function failureOf({ error, error_details: details }: Extract<DazflowRequest, { type: 'task_failed' }>): unknown {
  const plain = typeof error === 'string' ? { message: error } : error;
  if (details === undefined || details === null)
    return plain ?? { message: 'the agent reported a failure without a reason' };
  return typeof plain === 'object' && plain !== null ? { ...plain, details } : { message: String(plain), details };
}
