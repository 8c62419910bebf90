import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type EngineError, fault } from '../../core/errors.ts';
import { granted } from '../../core/placement/worker-grant.ts';
import type { World } from '../../core/world.ts';
import type { Log } from '../../engine/log.ts';
import {
  type ConfigUpdate,
  type Connect,
  MAX_FRAME_BYTES,
  REQUEST_TYPES,
  type UpgradeOrder,
  WORKER_PATH,
} from '../../protocol/frames.ts';
import type { Hello, Link, Session } from '../../protocol/link.ts';
import { tickMsOf } from '../../protocol/peer-liveness.ts';
import type { Access, Principal } from '../auth/access.ts';
import type { CredentialDesk } from '../credentials/desk.ts';
import { isExposed, type Surroundings } from '../credentials/exposure.ts';
import type { DazflowAttemptParts } from '../dazflow/dazflow-attempt.ts';
import { DazflowConnection, type DazflowConnectionOptions } from '../dazflow/dazflow-connection.ts';
import { bearerOf } from '../http/caller.ts';
import { type Hosts, hostOf } from '../http/hosts.ts';
import { errorOf, stackOf } from '../http/refusals.ts';
import type { UpgradeWatch } from '../release/upgrade-watch.ts';
import { closeWith, messageOf, refuseUpgrade, send } from '../socket-ends.ts';
import { type FirstMessage, readFirst, readPath } from './first-message.ts';
import { grantedHandlers, leftOut, requireDecided, requireGiven } from './given-to-name.ts';
import { holderOf, type LeaseTokens } from './lease-tokens.ts';
import { SharedTimer } from './shared-timer.ts';
import { MAX_STRANGER_BYTES, readLittle, StrangerSockets } from './stranger-sockets.ts';
import { type Frame, WorkerConnection } from './worker-connection.ts';
import type { NameHolder, WorkerNames } from './worker-names.ts';
import { claimsDone, WorkerService } from './worker-service.ts';
import type { WorkerSetting, WorkerSettings } from './worker-settings.ts';

export interface WorkerGatewayOptions {
  /** The link to the engine. */
  readonly link: Link;
  readonly tokens: LeaseTokens;
  readonly access: Access;
  readonly settings: WorkerSettings;
  /** Shared with the workers that come by other links. */
  readonly names: WorkerNames;
  /** Who is wanted as another release; undefined: nobody. */
  readonly upgrades?: UpgradeWatch | undefined;
  /** dazflow agents may also come by `/ws/agent/NAME/SECRET`. */
  readonly byPath?: boolean | undefined;
  /** An agent that is silent for so long is offline; default 60 s. */
  readonly offlineMs?: number | undefined;
  /** Gives workers the credentials that they were chosen for; undefined: this node gives none. */
  readonly desk?: CredentialDesk | undefined;
  readonly surroundings?: Surroundings | undefined;
  /** Where a task stands, for dazflow agents. */
  readonly placeOf?: DazflowAttemptParts['placeOf'];
  readonly world: World;
  readonly log: Log;
}

/** A client must identify itself within this time. */
const CONNECT_MS = 10_000;
const FIRST_IS_LATE = `the first message did not come within ${CONNECT_MS / 1000} s`;
/** `closeTimeout`: how long a client may take to hang up after a close. */
const SOCKETS = { noServer: true, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false, closeTimeout: 500 };
/** The bound of unread answers to pings. */
const MAX_PONG_BYTES = 1024 * 1024;
/** How long the grants of a disconnected worker are remembered. */
const REMEMBER_MS = 300_000;
/** As dazflow has it: twice the interval of its heartbeats. */
const OFFLINE_MS = 60_000;

/** The connection that holds a name. */
interface NamedConnection extends NameHolder {
  readonly socket: WebSocket;
  /** Aborted when nobody reads its answers any more. */
  readonly hangUp: AbortController;
}

/** Where a client comes from. */
interface Origin {
  readonly address: string | undefined;
  /** Others may read what it is sent. */
  readonly exposed: boolean;
}

/** The receiver of the frames of a connection. */
interface FrameReceiver {
  receive(frame: Frame): void;
}

/** What an incarnation was granted, also while its connection is broken. */
interface KnownIncarnation {
  readonly service: WorkerService;
  /** The number of the secret that it authenticated with. */
  readonly token: number | undefined;
  keep: () => void;
}

/** Workers of other hosts, each by one WebSocket. */
export class WorkerGateway {
  readonly #options: WorkerGatewayOptions;
  readonly #sockets = new WebSocketServer(SOCKETS);
  readonly #strangers = new StrangerSockets();
  readonly #connections = new Map<string, NamedConnection>();
  readonly #incarnations = new Map<string, KnownIncarnation>();
  /** Shared by all connections: the leases of a node have one length. */
  #timer: SharedTimer | undefined;
  /** Disconnected agents whose last writes are under way. */
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: WorkerGatewayOptions) {
    this.#options = options;
  }

  get connected(): number {
    return this.#sockets.clients.size;
  }

  /** Accepts a WebSocket upgrade for the right host and path, and from no page. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer, hosts: Hosts): void {
    const refuse = (line: string): void => refuseUpgrade(stream, line);
    if (!hosts.isOurs(hostOf(request))) return refuse('421 Misdirected Request');
    // Workers are programs. Only a browser sends an origin, and no page may connect here.
    if (request.headers.origin !== undefined) return refuse('403 Forbidden');
    const { url = '' } = request;
    const first = this.#options.byPath === true ? readPath(url) : undefined;
    if (first === undefined && url.split('?', 1)[0] !== WORKER_PATH) return refuse('404 Not Found');
    if (first === undefined && url !== WORKER_PATH) return refuse('400 Bad Request');
    stream.on('error', () => stream.destroy());
    const { surroundings = { behindProxy: false } } = this.#options;
    const origin = { address: request.socket.remoteAddress, exposed: isExposed(request, surroundings) };
    const { authorization } = request.headers;
    const accept = (isKnown: boolean): void =>
      this.#sockets.handleUpgrade(request, stream, head, (socket) => {
        const showed = !isKnown && authorization !== undefined;
        if (!isKnown && first === undefined) this.#strangers.add(socket, stream, showed);
        this.#awaitFirstMessage(socket, stream, { ...origin, showed }, first);
      });
    if (authorization === undefined) accept(false);
    else void this.#isSecret(authorization).then(accept);
  }

  /** A worker that shows its secret with the upgrade may say more in its first message: handlers, schemas, leases. */
  async #isSecret(authorization: string): Promise<boolean> {
    try {
      return (await this.#options.access.authenticate(bearerOf(authorization))).role === 'worker';
    } catch {
      // The first message tells it why.
      return false;
    }
  }

  /** Disconnects all workers; they reconnect here or to another node. */
  sendAway(): void {
    for (const { hangUp } of this.#connections.values()) hangUp.abort();
    for (const socket of this.#sockets.clients) closeWith(socket, 1012, 'this node only observes; go to another');
  }

  async close(): Promise<void> {
    // Waiting claims end without tasks. Tasks that were granted before are on their way when the connection ends.
    for (const { hangUp } of this.#connections.values()) hangUp.abort();
    await new Promise<void>((resolve) => void setImmediate(resolve));
    for (const socket of this.#sockets.clients) closeWith(socket, 1012, 'the node stops; come back');
    await new Promise((resolve) => this.#sockets.close(resolve));
    await Promise.all(this.#leaving);
    await this.#options.names.close();
    await claimsDone(
      [...this.#incarnations.values()].map(({ service }) => service),
      this.#options.world,
    );
  }

  /** The first message identifies the client, unless the address does. */
  #awaitFirstMessage(
    socket: WebSocket,
    stream: Duplex,
    origin: Origin & { readonly showed: boolean },
    first: FirstMessage | undefined,
  ): void {
    socket.on('error', () => socket.terminate());
    socket.on('ping', () => {
      if (socket.bufferedAmount > MAX_PONG_BYTES) socket.terminate();
    });
    const receive = (read: () => FirstMessage): void =>
      this.#receive(socket, origin, read, () => readLittle(socket, stream));
    if (first !== undefined) return receive(() => first);
    const late = setTimeout(() => closeWith(socket, 4408, FIRST_IS_LATE), CONNECT_MS);
    late.unref();
    socket.once('close', () => clearTimeout(late));
    socket.once('message', (...frame: Frame) => {
      clearTimeout(late);
      const isStranger = this.#strangers.delete(socket);
      receive(() => readFirst(frame, isStranger ? MAX_STRANGER_BYTES : MAX_FRAME_BYTES, origin.showed));
    });
  }

  #receive(socket: WebSocket, origin: Origin, read: () => FirstMessage, onRefused: () => void): void {
    socket.pause();
    // Frames of the same packet are delivered although the socket is paused, and must not be lost.
    const early: Frame[] = [];
    const keep = (...more: Frame): void => void early.push(more);
    socket.on('message', keep);
    let byPath = false;
    const admit = async (): Promise<FrameReceiver | undefined> => {
      const first = read();
      if (first.kind === 'worker') return this.#admitWorker(socket, first.connect, origin);
      ({ byPath } = first);
      return this.#admitDazflow(socket, first, origin);
    };
    admit()
      .finally(() => socket.off('message', keep))
      .then((connection) => {
        for (const one of early) connection?.receive(one);
      })
      .catch((error: unknown) => {
        const { code, message, hint } = this.#errorFor(error);
        const body = { code, message, ...(hint === undefined ? {} : { hint }) };
        send(socket, { type: 'connect_rejected', reason: message, error: body });
        onRefused();
        closeWith(socket, byPath ? (code === 'WORKER_DISABLED' ? 4002 : 4001) : 1008, code);
      });
  }

  async #admitWorker(
    socket: WebSocket,
    connect: Connect,
    { address, exposed }: Origin,
  ): Promise<FrameReceiver | undefined> {
    const principal = await this.#authenticate(connect);
    const setting = await this.#options.settings.ofJoining(connect.name, connect.handlers);
    const handlers = grantedHandlers(connect.handlers, setting);
    requireGiven(connect.name, { ...connect, handlers }, setting);
    await this.#options.upgrades?.admit(connect.name, connect.release, connect.holding.length > 0);
    const named = this.#takeName(socket, connect);
    try {
      const service = await this.#serviceOf(
        {
          ...helloOf(connect, address),
          handlers,
          schemas: connect.schemas?.filter(
            ({ handler }) => handlers.includes(handler) || !connect.handlers.includes(handler),
          ),
          token: principal.token,
        },
        named,
      );
      service.tell(connect.release);
      await service.reconcile(connect.holding);
      // Before it claims: what it does not hold any more is no label of it.
      service.credentials = await this.#options.desk?.open({ name: connect.name, vault: connect.vault, exposed });
      // The worker may have hung up meanwhile, or have reconnected.
      if (named.hangUp.signal.aborted) {
        service.credentials?.leave();
        return undefined;
      }
      const missing = leftOut(connect.handlers, handlers);
      const connection = this.#serveWorker(named, service, principal, missing);
      this.#sendChanges(connect, setting, socket, (update, { grant }) => {
        connection.send(update);
        // It comes back at once, with its leases, and offers all its handlers again.
        if (granted(missing, grant.handlers).length > 0) closeWith(socket, 4000, 'more handlers were granted');
      });
      this.#sendUpgrades(connect, socket, (order) => connection.send({ type: 'upgrade_required', ...order }));
      return connection;
    } catch (error) {
      this.#releaseName(connect.name, named);
      throw error;
    }
  }

  /** Admits a dazflow agent. Each of its connections is a worker of its own, whose leases end with it. */
  async #admitDazflow(
    socket: WebSocket,
    { connect, byPath }: Extract<FirstMessage, { kind: 'dazflow' }>,
    { address, exposed }: Origin,
  ): Promise<FrameReceiver | undefined> {
    const { name, version } = connect;
    const principal = await this.#authenticate(connect);
    const setting = await this.#options.settings.of(name);
    if (!setting.enabled) throw fault('WORKER_DISABLED', { worker: name });
    requireDecided(name, setting);
    const incarnation = randomUUID();
    const named = this.#takeName(socket, { name, incarnation });
    try {
      const hello: Hello = {
        name,
        incarnation,
        slots: 1,
        tags: [],
        handlers: [],
        anyHandler: true,
        queues: undefined,
        ...(typeof version === 'string' ? { version } : {}),
        // The agent does not say which host it runs on, and it is not this one.
        host: address,
        address,
        token: principal.token,
        holder: named.holder,
      };
      const { names, link } = this.#options;
      const session = await names.enter(name, named, () => link.open(hello));
      await session.beat('online');
      const agent = await this.#options.desk?.openAgent({ name, holds: connect.credentials ?? [], exposed });
      if (named.hangUp.signal.aborted) {
        await session.beat('offline').catch(() => {});
        return undefined;
      }
      const connection = this.#serveDazflow(named, session, principal, {
        name,
        byPath,
        version: version ?? undefined,
        credentials: agent,
      });
      this.#sendChanges({ name }, setting, socket, (update) => connection.send(update));
      return connection;
    } catch (error) {
      this.#releaseName(name, named);
      throw error;
    }
  }

  async #authenticate({ name, secret }: Pick<Connect, 'name' | 'secret'>): Promise<Principal> {
    const principal = await this.#options.access.authenticate(secret);
    if (principal.role === 'worker' && principal.name === name) return principal;
    throw fault('FORBIDDEN', { problem: 'the secret is not that of this worker' });
  }

  #takeName(socket: WebSocket, { name, incarnation }: Pick<Connect, 'name' | 'incarnation'>): NamedConnection {
    const hangUp = new AbortController();
    const named: NamedConnection = {
      holder: holderOf(name, incarnation),
      roams: false,
      socket,
      hangUp,
      isSilent: () => false,
      // Nobody waits for its answers from here on.
      replaced: () => {
        hangUp.abort();
        socket.terminate();
      },
    };
    if (socket.readyState !== socket.OPEN) {
      named.hangUp.abort();
      return named;
    }
    this.#options.names.take(name, named);
    this.#connections.set(name, named);
    socket.once('close', () => this.#releaseName(name, named));
    return named;
  }

  #releaseName(name: string, named: NamedConnection): void {
    named.hangUp.abort();
    this.#options.names.release(name, named);
    if (this.#connections.get(name) !== named) return;
    this.#connections.delete(name);
    const known = this.#incarnations.get(named.holder);
    if (known === undefined) return;
    // The worker may come back. Grants that never reached it are released then.
    const forget = (): void => void this.#incarnations.delete(named.holder);
    known.keep = this.#options.world.timers.after(REMEMBER_MS, forget, { unref: true });
  }

  /** Also a known incarnation registers again: its name is free for others from the end of its connection on. */
  async #serviceOf(hello: Hello, named: NamedConnection): Promise<WorkerService> {
    const { link, tokens, world, names } = this.#options;
    const { token, name } = hello;
    const { holder } = named;
    const session = await names.enter(name, named, () => link.open({ ...hello, holder }));
    const known = this.#incarnations.get(holder);
    known?.keep();
    // A session that began with another secret ends with that one.
    if (known !== undefined && known.token === token) return known.service;
    const service = new WorkerService(session, holder, tokens, world.clock.monotonic);
    this.#incarnations.set(holder, { service, token, keep: () => {} });
    return service;
  }

  #serveWorker(
    { socket, hangUp }: NamedConnection,
    service: WorkerService,
    principal: Principal,
    missing: readonly string[],
  ): WorkerConnection {
    const connection = new WorkerConnection({
      socket,
      leaseMs: service.session.leaseMs,
      timer: (this.#timer ??= new SharedTimer(tickMsOf(service.session.leaseMs))),
      holds: () => service.holds,
      answer: (request, buffer) => service.answer(request, hangUp.signal, buffer),
      onAlive: () => service.alive(),
      errorFor: (error) => this.#errorFor(error),
      onMalformed: (error) => this.#closeMalformed(socket, error),
    });
    const unlisten = service.session.onCancel((task) => {
      if (service.has(task)) connection.send({ type: 'kill_task', task });
    });
    const unpause = service.session.onPause?.((queue) => connection.send({ type: 'queue_paused', queue }));
    const stop = this.#options.access.onRevoked(principal, () => {
      closeWith(socket, 4401, 'the secret was revoked');
      // It cannot come back as it is. One that only lost its link still counts as there, until it has been silent for long.
      service.session.beat('offline').catch(() => {});
    });
    socket.once('close', () => {
      unlisten();
      unpause?.();
      stop();
    });
    const { leaseMs, heartbeatMs, runTimeoutMs } = service.session;
    const { credentials } = service;
    const signed = credentials === undefined ? {} : { signer: credentials.signer };
    const told = missing.length === 0 ? {} : { leftOut: missing };
    send(socket, { type: 'connect_ok', leaseMs, heartbeatMs, runTimeoutMs, can: REQUEST_TYPES, ...told, ...signed });
    credentials?.subscribe((order) => connection.send(messageOf(order)));
    socket.once('close', () => credentials?.leave());
    socket.resume();
    return connection;
  }

  #serveDazflow(
    named: NamedConnection,
    session: Session,
    principal: Principal,
    agent: Pick<DazflowConnectionOptions, 'name' | 'byPath' | 'version' | 'credentials'>,
  ): DazflowConnection {
    const { socket, hangUp } = named;
    const { world, log, access, placeOf, offlineMs = OFFLINE_MS } = this.#options;
    const { upgrades } = this.#options;
    const connection = new DazflowConnection({
      ...agent,
      watchVersion: (version, listener) => upgrades?.watchVersion(agent.name, version, listener) ?? (() => {}),
      placeOf,
      socket,
      session,
      world,
      log,
      offlineMs,
      onMalformed: (error) => this.#closeMalformed(socket, error),
      onSilence: () => closeWith(socket, 4408, `nothing was heard for ${offlineMs / 1000} s`),
    });
    named.isSilent = () => connection.isSilent;
    const stop = access.onRevoked(principal, () => closeWith(socket, 4401, 'the secret was revoked'));
    hangUp.signal.addEventListener('abort', () => {
      stop();
      const left = connection.close().finally(() => this.#leaving.delete(left));
      this.#leaving.add(left);
    });
    connection.start();
    socket.resume();
    return connection;
  }

  #closeMalformed(socket: WebSocket, error: unknown): void {
    this.#options.log.warn('a worker sent something that is not a message', { error: String(error) });
    closeWith(socket, 1007, 'that is not a message');
  }

  #sendChanges(
    { name, priority: own = 0 }: Pick<Connect, 'name' | 'priority'>,
    known: WorkerSetting,
    socket: WebSocket,
    send: (update: ConfigUpdate, setting: WorkerSetting) => void,
  ): void {
    const stop = this.#options.settings.watch(name, known, (setting) => {
      const { enabled, priority = own, tags } = setting;
      send({ type: 'config_update', enabled, priority, tags }, setting);
    });
    socket.once('close', stop);
  }

  #sendUpgrades(
    { name, release }: Pick<Connect, 'name' | 'release'>,
    socket: WebSocket,
    send: (order: UpgradeOrder) => void,
  ): void {
    const stop = this.#options.upgrades?.watch(name, release, send);
    if (stop !== undefined) socket.once('close', stop);
  }

  #errorFor(error: unknown): EngineError {
    const shown = errorOf(error);
    // What the worker does not see is in the log.
    if (shown !== error) this.#options.log.error('a worker could not be answered', { error: stackOf(error) });
    return shown;
  }
}

/** The worker has no tags of its own: it carries what its name was given, as long as that lasts. */
function helloOf(
  { type: _type, secret: _secret, holding: _holding, vault: _vault, release: _release, queues, ...hello }: Connect,
  address: string | undefined,
): Hello {
  return { ...hello, tags: [], queues, address };
}
