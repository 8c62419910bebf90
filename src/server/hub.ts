import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type EngineError, fault, isEngineError } from '../core/errors.ts';
import type { World } from '../core/world.ts';
import type { Log } from '../engine/log.ts';
import { Asked, Connect, MAX_FRAME_BYTES, MAX_FRAME_DEPTH, type Said, WORKER_PATH } from '../protocol/frames.ts';
import type { Hello, Link } from '../protocol/link.ts';
import type { Access } from './access.ts';
import { checked } from './asking.ts';
import type { Hosts } from './hosts.ts';
import { parseBody } from './json-body.ts';
import type { LeaseTokens } from './lease-tokens.ts';
import { errorOf, stackOf } from './refusals.ts';
import { WorkerDesk } from './worker-desk.ts';

export interface HubOptions {
  /** The way to the engine, once it is open. */
  readonly link: Link;
  readonly tokens: LeaseTokens;
  readonly access: Access;
  /** Tags that were given to a worker's name. */
  readonly tagsOf: (name: string) => Promise<readonly string[]>;
  readonly world: World;
  readonly log: Log;
}

/** A worker says who it is within this time. */
const CONNECT_MS = 10_000;
const PING_MS = 10_000;
/** One that has not answered for so long is gone. */
const SILENT_MS = 30_000;
/** Answers that a worker has not taken; beyond it nothing more is read from it. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** How long it is remembered what a worker that went away was granted. */
const MEMORY_MS = 300_000;

/** Workers of other machines, each by one WebSocket. */
export class Hub {
  readonly #options: HubOptions;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false });
  /** By name: who is connected under it. */
  readonly #connected = new Map<string, { readonly incarnation: string; readonly socket: WebSocket }>();
  /** By name and incarnation: what each was granted, also while its connection is broken. */
  readonly #desks = new Map<string, WorkerDesk>();

  constructor(options: HubOptions) {
    this.#options = options;
  }

  get connected(): number {
    return this.#sockets.clients.size;
  }

  /** Takes what asks to speak WebSocket, if it comes by the right name and path and from no page. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer, hosts: Hosts): void {
    const refuse = (line: string): void => void stream.end(`HTTP/1.1 ${line}\r\nConnection: close\r\n\r\n`);
    stream.on('error', () => stream.destroy());
    if (!hosts.isOurs(request.headers.host)) return refuse('421 Misdirected Request');
    // Workers are programs: only a browser says an origin, and no page has business here.
    if (request.headers.origin !== undefined) return refuse('403 Forbidden');
    if (request.url?.split('?', 1)[0] !== WORKER_PATH) return refuse('404 Not Found');
    if (request.url !== WORKER_PATH) return refuse('400 Bad Request');
    this.#sockets.handleUpgrade(request, stream, head, (socket) => this.#greet(socket));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.close(1012, 'the node stops; come back');
    const patience = new Promise((resolve) => setTimeout(resolve, 500).unref());
    await Promise.race([new Promise((resolve) => this.#sockets.close(resolve)), patience]);
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  /** The first message says who it is. */
  #greet(socket: WebSocket): void {
    const late = setTimeout(() => socket.terminate(), CONNECT_MS);
    late.unref();
    socket.on('error', () => socket.terminate());
    socket.once('message', (data: Buffer) => {
      clearTimeout(late);
      socket.pause();
      this.#letIn(socket, data).catch((error: unknown) => {
        const { code, message, hint } = this.#told(error);
        say(socket, [{ type: 'connect_rejected', error: { code, message, ...(hint === undefined ? {} : { hint }) } }]);
        socket.close(1008, code);
        socket.resume();
      });
    });
  }

  async #letIn(socket: WebSocket, data: Buffer): Promise<void> {
    const connect = checked('body', Connect, parseBody(data.toString(), MAX_FRAME_DEPTH)) as Connect;
    const { access, link, tokens } = this.#options;
    const principal = await access.who(connect.secret);
    if (principal.role !== 'worker' || principal.name !== connect.name) {
      throw fault('FORBIDDEN', { problem: 'the secret is not that of this worker' });
    }
    await this.#checkTags(connect);
    this.#takePlace(socket, connect);
    const holder = `${connect.name}/${connect.incarnation}`;
    const desk = this.#desks.get(holder) ?? new WorkerDesk(await link.open(helloOf(connect)), holder, tokens);
    this.#desks.set(holder, desk);
    const held = connect.holding.map((lease) => tokens.check(lease, holder));
    await desk.settleUp(held);
    const end = (): void => socket.close(4401, 'the secret was revoked');
    const stop = access.live(principal, end);
    this.#converse(socket, desk, () => {
      stop();
      desk.stopClaims();
      if (this.#connected.get(connect.name)?.socket === socket) this.#connected.delete(connect.name);
      // It may come back; what it was granted and never heard of is given back then.
      this.#options.world.timers.after(MEMORY_MS, () => this.#forget(connect.name, holder), { unref: true });
    });
    say(socket, [{ type: 'connect_ok', leaseMs: desk.session.leaseMs }]);
    socket.resume();
  }

  #forget(name: string, holder: string): void {
    const now = this.#connected.get(name);
    if (now === undefined || `${name}/${now.incarnation}` !== holder) this.#desks.delete(holder);
  }

  /** A worker can carry less than it was given, never more. */
  async #checkTags({ name, tags }: Connect): Promise<void> {
    const given = new Set(await this.#options.tagsOf(name));
    const extra = tags.find((tag) => !given.has(tag));
    if (extra === undefined) return;
    throw fault(
      'FORBIDDEN',
      { problem: `the tag ${extra} was not given to the worker ${name}` },
      { hint: `"leasehold workers tag ${name} --add ${extra}" gives it.` },
    );
  }

  /** One name, one connection: a process that comes back takes its own place, another one has to wait until it is free. */
  #takePlace(socket: WebSocket, { name, incarnation }: Connect): void {
    const before = this.#connected.get(name);
    if (before !== undefined && before.incarnation !== incarnation) {
      throw fault(
        'CONFLICT',
        { problem: `a worker named ${name} is connected already` },
        {
          hint: 'Stop it, or give this one a name and a secret of its own.',
        },
      );
    }
    before?.socket.terminate();
    this.#connected.set(name, { incarnation, socket });
  }

  #converse(socket: WebSocket, desk: WorkerDesk, over: () => void): void {
    const mouth = new Mouth(socket);
    let heardAt = performance.now();
    const hear = (): void => void (heardAt = performance.now());
    const unlisten = desk.session.onCancel((task) => {
      if (desk.has(task)) mouth.say({ type: 'kill_task', task });
    });
    const beat = setInterval(() => {
      if (performance.now() - heardAt > SILENT_MS) socket.terminate();
      else socket.ping();
    }, PING_MS);
    beat.unref();
    socket.on('pong', hear);
    socket.on('message', (data: Buffer) => {
      hear();
      for (const message of this.#messages(socket, data)) void this.#answer(message, desk, mouth);
    });
    socket.once('close', () => {
      clearInterval(beat);
      unlisten();
      over();
    });
  }

  /** The messages of a frame; one that is not well formed ends the connection. */
  #messages(socket: WebSocket, data: Buffer): readonly Asked[] {
    try {
      const value = parseBody(data.toString(), MAX_FRAME_DEPTH);
      return (Array.isArray(value) ? value : [value]).map((one) => checked('body', Asked, one) as Asked);
    } catch (error) {
      this.#options.log.warn('a worker sent something that is no message', { error: String(error) });
      socket.close(1007, 'that is no message');
      return [];
    }
  }

  async #answer(asked: Asked, desk: WorkerDesk, mouth: Mouth): Promise<void> {
    try {
      const value = await desk.answer(asked);
      mouth.say({ type: 'ok', re: asked.n, value });
    } catch (error) {
      mouth.say({ type: 'refused', re: asked.n, error: this.#told(error).toJSON() });
    }
  }

  #told(error: unknown): EngineError {
    if (!isEngineError(error)) this.#options.log.error('a worker could not be answered', { error: stackOf(error) });
    return errorOf(error);
  }
}

/** Says what comes in one turn in one frame; a worker that does not take its answers is heard no more until it does. */
class Mouth {
  readonly #socket: WebSocket;
  #words: Said[] = [];

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  say(word: Said): void {
    if (this.#words.push(word) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const words = this.#words;
    this.#words = [];
    say(this.#socket, words, () => {
      if (this.#socket.isPaused && this.#socket.bufferedAmount <= MAX_UNREAD_BYTES) this.#socket.resume();
    });
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) this.#socket.pause();
  }
}

function say(socket: WebSocket, words: readonly Said[], sent: () => void = () => {}): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.send(JSON.stringify(words.length === 1 ? words[0] : words), () => sent());
}

function helloOf({ type: _type, secret: _secret, holding: _holding, queues, ...hello }: Connect): Hello {
  return { ...hello, queues };
}
