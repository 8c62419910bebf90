import type { WebSocket } from 'ws';
import { type EngineError, fault } from '../../core/errors.ts';
import {
  ALIVE,
  exceeds,
  framesOf,
  MAX_ANSWER_BYTES,
  MAX_FRAME_DEPTH,
  MOST_PER_FRAME,
  type NodeMessage,
  REQUEST_TYPES,
  WorkerRequest,
} from '../../protocol/frames.ts';
import { idleTickMsOf, PeerLiveness, tickMsOf } from '../../protocol/peer-liveness.ts';
import { checked } from '../http/caller.ts';
import { parseBody } from '../http/json-body.ts';
import { LogPace } from './log-pace.ts';
import { SendBuffer } from './send-buffer.ts';
import type { SharedTimer } from './shared-timer.ts';

export interface WorkerConnectionOptions {
  readonly socket: WebSocket;
  readonly leaseMs: number;
  /** Shared by all connections; each ticks once a round. */
  readonly timer: SharedTimer;
  /** Whether the worker holds a lease, which a broken connection would cost. */
  readonly holds: () => boolean;
  /** Answers one request; rejects with the error for the worker. */
  readonly answer: (request: WorkerRequest, buffer: SendBuffer) => Promise<unknown>;
  /** The worker is alive. */
  readonly onAlive: () => void;
  /** The error that the worker sees. */
  readonly errorFor: (error: unknown) => EngineError;
  /** The data is not a message: the connection ends. */
  readonly onMalformed: (error: unknown) => void;
}

/** One frame, and whether it is binary. */
export type Frame = readonly [data: Buffer, isBinary: boolean];

const ALIVE_BYTES = Buffer.from(ALIVE);
/** Requests in progress at once, each of several ends counted: as many as the engine puts into one commit. */
const MAX_OPEN = 250;
/** The same for requests whose answers can be large. */
const MAX_OPEN_READS = 8;
/**
 * Log units in progress before the next ones wait, in UTF-16 units. Many short entries share a commit, and a worker that
 * floods has its socket paused instead of the event loop of everybody (32 batches of 64 KiB at once made commits of 2 MiB).
 */
const MAX_OPEN_LOG_UNITS = 64 * 1024;
export const READS: ReadonlySet<WorkerRequest['type']> = new Set([
  'task_claim',
  'journal',
  'waited',
  'results',
  'dependencies',
  'definition',
  'reusable',
  'artifact_list',
]);

/**
 * One WebSocket of a worker. Requests are handled in the order of their arrival, some at a time. Nothing is read while more
 * of them wait, or while the worker does not read its answers. So the cost of a worker is bounded, whatever it does.
 */
export class WorkerConnection {
  readonly #options: WorkerConnectionOptions;
  /** Received requests; those before `#next` have begun. */
  #waiting: WorkerRequest[] = [];
  #next = 0;
  #open = 0;
  #openReads = 0;
  #openLogUnits = 0;
  /** Created for workers that log; most of thousands only wait. */
  #logPace: LogPace | undefined;
  #paced: NodeJS.Timeout | undefined;
  readonly #buffer: SendBuffer;
  readonly #liveness: PeerLiveness;

  constructor(options: WorkerConnectionOptions) {
    this.#options = options;
    const { socket, leaseMs, timer } = options;
    this.#buffer = new SendBuffer(socket, { framesOf, onRoom: () => this.#startNext() });
    this.#liveness = new PeerLiveness(tickMsOf(leaseMs), idleTickMsOf(leaseMs));
    const leave = timer.join(() => this.#tick());
    const heard = (): void => this.#liveness.heard();
    socket.on('pong', heard);
    socket.on('ping', heard);
    socket.on('message', (...frame: Frame) => this.receive(frame));
    socket.once('close', () => {
      leave();
      clearTimeout(this.#paced);
      this.#waiting = [];
    });
  }

  send(message: NodeMessage): void {
    this.#buffer.send(JSON.stringify(message));
  }

  receive([data, isBinary]: Frame): void {
    // After the close was sent nothing counts, though frames may still arrive.
    if (!this.#isOpen) return;
    this.#liveness.heard();
    if (!isBinary && ALIVE_BYTES.equals(data)) {
      this.#options.onAlive();
      return;
    }
    try {
      if (isBinary) throw fault('INVALID_INPUT', { field: 'message', problem: 'messages are text' });
      const value = parseBody(data.toString(), { maxDepth: MAX_FRAME_DEPTH, maxEntries: MOST_PER_FRAME });
      for (const one of Array.isArray(value) ? value : [value]) this.#enqueue(one);
    } catch (error) {
      this.#options.onMalformed(error);
      this.#waiting = [];
    }
    this.#startNext();
  }

  get #isOpen(): boolean {
    const { socket } = this.#options;
    return socket.readyState === socket.OPEN;
  }

  /**
   * Refuses a malformed request and goes on with the others. It may come from an odd handler or from a newer worker, and
   * would come again with every connection if this one ended.
   */
  #enqueue(value: unknown): void {
    try {
      this.#waiting.push(checked('body', WorkerRequest, value) as WorkerRequest);
    } catch (error) {
      const { n } = (value ?? {}) as { readonly n?: unknown };
      if (!Number.isSafeInteger(n)) {
        if (isUnknown(value)) return;
        throw error;
      }
      this.send({ type: 'refused', re: n as number, error: this.#options.errorFor(error).toJSON() });
    }
  }

  /** Begins the requests that may begin now. */
  #startNext(): void {
    while (this.#mayBegin()) void this.#answer(this.#waiting[this.#next++] as WorkerRequest);
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    const { socket } = this.#options;
    if (this.#waiting.length > 0 || this.#buffer.isFull) socket.pause();
    else if (socket.isPaused) socket.resume();
  }

  #mayBegin(): boolean {
    const next = this.#waiting[this.#next];
    if (next === undefined || this.#open >= MAX_OPEN || this.#buffer.isFull || !this.#isOpen) return false;
    if (next.type === 'task_progress') return this.#mayLog();
    return this.#openReads < MAX_OPEN_READS || !READS.has(next.type);
  }

  #mayLog(): boolean {
    if (this.#openLogUnits >= MAX_OPEN_LOG_UNITS) return false;
    const waitMs = this.#logPace?.waitMs ?? 0;
    if (waitMs === 0) return true;
    this.#paced ??= setTimeout(() => {
      this.#paced = undefined;
      this.#startNext();
    }, waitMs).unref();
    return false;
  }

  async #answer(request: WorkerRequest): Promise<void> {
    const reads = READS.has(request.type) ? 1 : 0;
    const logUnits = request.type === 'task_progress' ? unitsOf(request.logs) : 0;
    const ends = request.type === 'tasks_complete' ? Math.max(1, request.ends.length) : 1;
    this.#open += ends;
    this.#openReads += reads;
    this.#openLogUnits += logUnits;
    if (logUnits > 0) (this.#logPace ??= new LogPace()).took(logUnits);
    this.#buffer.send(await this.#answerTo(request));
    this.#open -= ends;
    this.#openReads -= reads;
    this.#openLogUnits -= logUnits;
    this.#startNext();
  }

  async #answerTo(request: WorkerRequest): Promise<string> {
    try {
      const value = await this.#options.answer(request, this.#buffer);
      const text = JSON.stringify({ type: 'ok', re: request.n, value } satisfies NodeMessage);
      if (!exceeds(text, MAX_ANSWER_BYTES)) return text;
      // If sent, the answer would end the connection and be requested again on the next one.
      throw fault(
        'TOO_LARGE',
        { field: 'answer', maxBytes: MAX_ANSWER_BYTES },
        { hint: 'Ask for less at once, or let the tasks keep references to their results.' },
      );
    } catch (error) {
      return JSON.stringify({
        type: 'refused',
        re: request.n,
        error: this.#options.errorFor(error).toJSON(),
      } satisfies NodeMessage);
    }
  }

  #tick(): void {
    const { socket, holds } = this.#options;
    const ask = this.#liveness.tick(holds());
    if (this.#liveness.isDead) socket.terminate();
    else if (ask) socket.ping();
  }
}

/** A message that wants no answer, of a worker that is newer than this node. */
function isUnknown(value: unknown): boolean {
  const { type } = (value ?? {}) as { readonly type?: unknown };
  return typeof type === 'string' && type !== 'connect' && !REQUEST_TYPES.includes(type);
}

function unitsOf(logs: readonly { readonly text: string }[]): number {
  return logs.reduce((sum, { text }) => sum + text.length, 0);
}
