import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type EngineError, fault } from '../core/errors.ts';
import type { World } from '../core/world.ts';
import type { Log } from '../engine/log.ts';
import { Connect, MAX_FRAME_BYTES, MAX_FRAME_DEPTH, type Said, WORKER_PATH } from '../protocol/frames.ts';
import type { Hello, Link } from '../protocol/link.ts';
import type { Access, Principal } from './access.ts';
import { checked } from './asking.ts';
import { Conversation, type Frame } from './conversation.ts';
import { requireGiven } from './given-tags.ts';
import { type Hosts, hostOf } from './hosts.ts';
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
/** `closeTimeout`: who was told that it is over has so long to hang up. */
const SOCKETS = { noServer: true, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false, closeTimeout: 500 };
/** Answers to pings that nobody takes. */
const MAX_PONG_BYTES = 1024 * 1024;
const PING_MS = 10_000;
const MIN_PING_MS = 100;
const PINGS_PER_LEASE = 9;
/** How long it is remembered what a worker that went away was granted. */
const MEMORY_MS = 300_000;

/** Of a name: who is connected under it. */
interface Place {
  /** Name and incarnation. */
  readonly holder: string;
  readonly socket: WebSocket;
  /** Nobody hears its answers any more. */
  readonly gone: AbortController;
}

/** Of an incarnation: what it was granted, also while its connection is broken. */
interface Memory {
  readonly desk: WorkerDesk;
  /** The number of the secret that it came in by. */
  readonly token: number | undefined;
  keep: () => void;
}

/** Workers of other machines, each by one WebSocket. */
export class Hub {
  readonly #options: HubOptions;
  readonly #sockets = new WebSocketServer(SOCKETS);
  readonly #places = new Map<string, Place>();
  readonly #memories = new Map<string, Memory>();

  constructor(options: HubOptions) {
    this.#options = options;
  }

  get connected(): number {
    return this.#sockets.clients.size;
  }

  /** Takes what asks to speak WebSocket, if it comes by the right name and path and from no page. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer, hosts: Hosts): void {
    const refuse = (line: string): void => refuseUpgrade(stream, line);
    if (!hosts.isOurs(hostOf(request))) return refuse('421 Misdirected Request');
    // Workers are programs: only a browser says an origin, and no page has business here.
    if (request.headers.origin !== undefined) return refuse('403 Forbidden');
    if (request.url?.split('?', 1)[0] !== WORKER_PATH) return refuse('404 Not Found');
    if (request.url !== WORKER_PATH) return refuse('400 Bad Request');
    stream.on('error', () => stream.destroy());
    this.#sockets.handleUpgrade(request, stream, head, (socket) => this.#greet(socket));
  }

  async close(): Promise<void> {
    // Who waits for work gets none any more; what was granted before is on its way when the connection ends.
    for (const { gone } of this.#places.values()) gone.abort();
    await new Promise<void>((resolve) => void setImmediate(resolve));
    for (const socket of this.#sockets.clients) part(socket, 1012, 'the node stops; come back');
    await new Promise((resolve) => this.#sockets.close(resolve));
  }

  /** The first message says who it is. */
  #greet(socket: WebSocket): void {
    const late = setTimeout(() => socket.terminate(), CONNECT_MS);
    late.unref();
    socket.on('error', () => socket.terminate());
    socket.on('ping', () => {
      if (socket.bufferedAmount > MAX_PONG_BYTES) socket.terminate();
    });
    socket.once('message', (...frame: Frame) => {
      clearTimeout(late);
      socket.pause();
      // What came in the same packet is heard all the same, and must not be lost.
      const early: Frame[] = [];
      const keep = (...more: Frame): void => void early.push(more);
      socket.on('message', keep);
      this.#letIn(socket, frame)
        .finally(() => socket.off('message', keep))
        .then((conversation) => {
          for (const one of early) conversation?.hear(one);
        })
        .catch((error: unknown) => {
          const { code, message, hint } = this.#told(error);
          say(socket, { type: 'connect_rejected', error: { code, message, ...(hint === undefined ? {} : { hint }) } });
          part(socket, 1008, code);
        });
    });
  }

  async #letIn(socket: WebSocket, frame: Frame): Promise<Conversation | undefined> {
    const connect = read(frame);
    const principal = await this.#options.access.who(connect.secret);
    if (principal.role !== 'worker' || principal.name !== connect.name) {
      throw fault('FORBIDDEN', { problem: 'the secret is not that of this worker' });
    }
    await this.#checkTags(connect);
    const place = this.#takePlace(socket, connect);
    try {
      const desk = await this.#deskOf(connect, place, principal);
      await desk.settleUp(connect.holding);
      // It may have hung up meanwhile, or have come back by another connection.
      return place.gone.signal.aborted ? undefined : this.#converse(place, desk, principal);
    } catch (error) {
      this.#leave(connect.name, place);
      throw error;
    }
  }

  /** A worker can carry less than it was given, never more. */
  async #checkTags({ name, tags }: Connect): Promise<void> {
    requireGiven(name, tags, await this.#options.tagsOf(name));
  }

  /** One name, one connection: a process that comes back takes its own place, another one has to wait until it is free. */
  #takePlace(socket: WebSocket, { name, incarnation }: Connect): Place {
    const place = { holder: `${name}/${incarnation}`, socket, gone: new AbortController() };
    if (socket.readyState !== socket.OPEN) {
      place.gone.abort();
      return place;
    }
    const before = this.#places.get(name);
    if (before !== undefined && before.holder !== place.holder) {
      throw fault(
        'CONFLICT',
        { problem: `a worker named ${name} is connected already` },
        { hint: 'Stop it, or give this one a name and a secret of its own.' },
      );
    }
    // What its old connection still waits for is nobody's, from here on.
    before?.gone.abort();
    before?.socket.terminate();
    this.#places.set(name, place);
    socket.once('close', () => this.#leave(name, place));
    return place;
  }

  #leave(name: string, place: Place): void {
    place.gone.abort();
    if (this.#places.get(name) !== place) return;
    this.#places.delete(name);
    const memory = this.#memories.get(place.holder);
    if (memory === undefined) return;
    // It may come back; what it was granted and never heard of is given back then.
    const forget = (): void => void this.#memories.delete(place.holder);
    memory.keep = this.#options.world.timers.after(MEMORY_MS, forget, { unref: true });
  }

  async #deskOf(connect: Connect, { holder }: Place, { token }: Principal): Promise<WorkerDesk> {
    const { link, tokens, world } = this.#options;
    const known = this.#memories.get(holder);
    known?.keep();
    // One that was begun with another secret ends with that one.
    if (known !== undefined && known.token === token) return known.desk;
    const session = await link.open({ ...helloOf(connect), token });
    const desk = new WorkerDesk(session, holder, tokens, world.clock.monotonic);
    this.#memories.set(holder, { desk, token, keep: () => {} });
    return desk;
  }

  #converse({ socket, gone }: Place, desk: WorkerDesk, principal: Principal): Conversation {
    const conversation = new Conversation({
      socket,
      answer: (asked) => desk.answer(asked, gone.signal),
      told: (error) => this.#told(error),
      pingMs: pingMsOf(desk.session.leaseMs),
      onNonsense: (error) => {
        this.#options.log.warn('a worker sent something that is no message', { error: String(error) });
        part(socket, 1007, 'that is no message');
      },
    });
    const unlisten = desk.session.onCancel((task) => {
      if (desk.has(task)) conversation.say({ type: 'kill_task', task });
    });
    const stop = this.#options.access.live(principal, () => part(socket, 4401, 'the secret was revoked'));
    socket.once('close', () => {
      unlisten();
      stop();
    });
    say(socket, { type: 'connect_ok', leaseMs: desk.session.leaseMs });
    socket.resume();
    return conversation;
  }

  #told(error: unknown): EngineError {
    const told = errorOf(error);
    // What is not told is in the log.
    if (told !== error) this.#options.log.error('a worker could not be answered', { error: stackOf(error) });
    return told;
  }
}

/**
 * A worker that has fallen silent is found within a third of a lease, three pings: before its leases run out, so that what comes
 * back from it is not given to its connection again, where nobody would hear of it until another lease and another try are gone.
 */
function pingMsOf(leaseMs: number): number {
  return Math.max(MIN_PING_MS, Math.min(PING_MS, Math.floor(leaseMs / PINGS_PER_LEASE)));
}

/** Who keeps its own side open would keep the server from closing; and who hangs up must not end the process. */
export function refuseUpgrade(stream: Duplex, line: string): void {
  stream.on('error', () => stream.destroy());
  stream.once('finish', () => stream.destroy());
  stream.end(`HTTP/1.1 ${line}\r\nConnection: close\r\n\r\n`);
}

/** Says why it is over. Nothing that comes after that counts, and who does not hang up is cut off. */
function part(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  socket.resume();
}

function say(socket: WebSocket, said: Said): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(said));
}

function read([data, isBinary]: Frame): Connect {
  if (isBinary) throw fault('INVALID_INPUT', { field: 'body', problem: 'messages are text' });
  return checked('body', Connect, parseBody(data.toString(), MAX_FRAME_DEPTH)) as Connect;
}

/** Its tags are those that its name was given, for as long as they are: it has none of its own. */
function helloOf({ type: _type, secret: _secret, holding: _holding, queues, ...hello }: Connect): Hello {
  return { ...hello, tags: [], queues };
}
