import { type AddressInfo, isIP } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type EngineError, fault } from '../core/errors.ts';
import { type Log, SILENT } from '../engine/log.ts';
import { unfailing } from '../engine/unfailing-log.ts';
import { isOperated, type OperatedName } from '../operate/operations/operations.ts';
import { isWrite, mayCall, type Route } from '../protocol/route.ts';
import { type AnswerOf, ROUTES, type RouteName } from '../protocol/routes.ts';
import { a2aRoutes } from './a2a/routes.ts';
import { type Access, callerOf, type Principal } from './auth/access.ts';
import { aboutOf, actorOf as auditActor, audited, auditorFor, auditRefusal } from './auth/audit.ts';
import { watchClock } from './clock-watch.ts';
import { STREAM_HEADERS, writeStream } from './events/sse.ts';
import { MAX_HOOK_BYTES } from './hooks/hook-service.ts';
import { EventStream, FileAnswer, JsonText, NO_CONTENT, RawResponse } from './http/answers.ts';
import { actorOf, bearerOf, checked } from './http/caller.ts';
import { Connections, MOST_PER_ADDRESS, placeOf } from './http/connections.ts';
import { endUnread } from './http/hang-up.ts';
import { Hosts, hostOf, isLoopback } from './http/hosts.ts';
import { InFlightRequests } from './http/in-flight.ts';
import { cannotListen, makeFastify, requireTls } from './http/listening.ts';
import type { Metrics } from './http/metrics.ts';
import { Pipelines } from './http/pipelines.ts';
import { errorOf, noPage, notOpen, problemText, stackOf } from './http/refusals.ts';
import type { Call, Handler, Handlers, Services } from './http/route-handler.ts';
import { StrangerPace, type StrangerTerms } from './http/stranger-pace.ts';
import { loopdRoutes, loopRoutes } from './loopd/loopd-routes.ts';
import { plainStatus, plainText } from './loopd/refusals.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { artifactRoutes } from './routes/artifacts.ts';
import { eventRoutes } from './routes/events.ts';
import { hookRoutes } from './routes/hooks.ts';
import { insightRoutes } from './routes/insight.ts';
import { loginRoutes } from './routes/login.ts';
import { logRoutes } from './routes/logs.ts';
import { operatorRoute } from './routes/operator.ts';
import { pushRoutes } from './routes/pushing.ts';
import { systemRoutes } from './routes/system.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { workerRoutes } from './routes/workers.ts';
import { refuseRequest } from './rpc/problems.ts';
import { rpcRoutes } from './rpc/routes.ts';
import { refuseUpgrade } from './socket-ends.ts';
import { watchStalls } from './transfers/stall-watch.ts';
import type { SignedQuery, Way } from './transfers/transfer-signer.ts';
import { cookieOf } from './ui/cookie.ts';
import { opensPage, servePages } from './ui/pages.ts';
import { httpWorkerRoutes } from './workers/http-routes.ts';
import type { SessionTokens, WorkerSession } from './workers/session-tokens.ts';
import type { WorkerGateway } from './workers/worker-gateway.ts';

export interface ServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly version: string;
  /** Other names that it answers to, such as that of a proxy. */
  readonly names?: readonly string[] | undefined;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Listens beyond this host without TLS, because a proxy in front does it. */
  readonly insecure?: boolean | undefined;
  /** The URL that it tells others to call; default: its own address. */
  readonly publicUrl?: string | undefined;
  /** Connections of one address at a time; 0: no bound. Default: no bound behind a proxy, where all callers share an address. */
  readonly maxConnections?: number | undefined;
  /** Streams of one token at a time; 0: no bound. */
  readonly maxStreams?: number | undefined;
  /** How fast callers without a token are answered. */
  readonly strangers?: StrangerTerms | undefined;
  readonly timeouts?: { readonly headersMs: number; readonly requestMs: number } | undefined;
  /** The folder with the built web UI; undefined, or a function that answers undefined: it is not built. */
  readonly pages?: (() => string | undefined) | undefined;
  readonly log?: Log | undefined;
}

const MOST_STREAMS = 1000;
/** A request that takes longer is cut off when the server closes. */
const DRAIN_MS = 2000;

/** The services that exist once the store is open. */
export interface OpenServices extends Omit<Services, 'address'> {
  readonly access: Access;
  readonly metrics: Metrics;
  readonly gateway: WorkerGateway;
  readonly sessions: SessionTokens;
}

/** The HTTP server. It answers before its store is open: that it is alive, and that it is not ready. */
export class Server {
  readonly #fastify: FastifyInstance;
  readonly #hosts: Hosts;
  readonly #options: ServerOptions;
  readonly #log: Log;
  readonly #closing = new AbortController();
  readonly #inFlight = new InFlightRequests();
  readonly #pipelines = new Pipelines();
  readonly #pace: StrangerPace;
  /** New requests are refused. */
  #ending = false;
  readonly #principals = new WeakMap<FastifyRequest, Principal>();
  readonly #streams = new WeakSet<FastifyRequest>();
  /** They came by a good signature. */
  readonly #signed = new WeakSet<FastifyRequest>();
  /** For the audit: whose token is good, also for what they may not do; whose entry has begun; why they were refused. */
  readonly #known = new WeakMap<FastifyRequest, Principal>();
  readonly #begun = new WeakSet<FastifyRequest>();
  readonly #codes = new WeakMap<FastifyRequest, string>();
  /** Open streams by token. */
  readonly #open = new Map<number | undefined, number>();
  #services: OpenServices | undefined;
  #unwatch = (): void => {};

  private constructor(options: ServerOptions) {
    this.#options = options;
    this.#log = unfailing(options.log ?? SILENT);
    this.#pace = new StrangerPace(options.strangers);
    const { names = [], publicUrl } = options;
    this.#hosts = new Hosts(options.host, publicUrl === undefined ? names : [...names, new URL(publicUrl).hostname]);
    this.#fastify = makeFastify(options, {
      refuse: (error, request, reply) => {
        // It waits for no turn, so that many of them at once would be answered at once.
        if (this.#pipelines.isBusy(request.raw)) return void request.raw.socket.destroy();
        setCommonHeaders(request, reply);
        reply.header('connection', 'close');
        this.#refuse(this.#refusalOf(request) ?? error, request, reply);
      },
      rawBytes: (request) => (routeOf(request)?.raw === true ? MAX_HOOK_BYTES : undefined),
      isStreamed: (request) => routeOf(request)?.bytes === true,
      callerOf: (request) => {
        const principal = this.#principals.get(request);
        return principal === undefined ? undefined : callerOf(principal);
      },
    });
    this.#fastify.addHook('onRequest', (request, reply, done) => this.#pipelines.enter(request.raw, reply.raw, done));
    this.#fastify.addHook('onRequest', (request, reply, done) => {
      setCommonHeaders(request, reply);
      this.#inFlight.begin(reply.raw);
      if (this.#ending) reply.header('connection', 'close');
      // A page that is not there is refused here, before its body is read.
      const refusal = this.#refusalOf(request) ?? (this.#ending ? notOpen() : undefined);
      done(refusal ?? (request.is404 ? noPage(request) : undefined));
    });
    this.#fastify.setErrorHandler((error, request, reply) => this.#refuse(error, request, reply));
    this.#fastify.setNotFoundHandler((request, reply) => this.#refuse(noPage(request), request, reply));
    const now = (): number => this.#services?.engine.world.clock.monotonic() ?? 0;
    servePages(this.#fastify, { folder: options.pages ?? (() => undefined), log: this.#log, now });
    const handlers = this.#handlers();
    for (const name of Object.keys(ROUTES) as RouteName[]) {
      const own = handlers[name] ?? (isOperated(name) ? operatorRoute(name) : undefined);
      this.#register(name, own as Handler<RouteName>);
    }
    this.#fastify.addHook('onSend', (request, reply, _payload, done) => this.#keepPace(request, reply, done));
    this.#fastify.addHook('onResponse', (request, reply, done) => {
      // The length of a stream says nothing about how fast answers are.
      if (!this.#streams.has(request)) {
        this.#services?.metrics.request(nameOf(request), reply.statusCode, reply.elapsedTime / 1000);
      }
      this.#auditRefusal(request, reply.statusCode);
      done();
    });
    // On loopback and behind a proxy all callers share an address.
    const { insecure, host, maxConnections = insecure === true || isLoopback(host) ? 0 : MOST_PER_ADDRESS } = options;
    new Connections(maxConnections).guard(this.#fastify.server);
  }

  static async listen(options: ServerOptions): Promise<Server> {
    requireTls(options);
    const server = new Server(options);
    const { host, port } = options;
    try {
      await server.#fastify.listen({ host, port });
    } catch (error) {
      throw cannotListen(error as NodeJS.ErrnoException, host, port);
    }
    server.#fastify.server.on('upgrade', (request, stream, head) => {
      const gateway = server.#services?.gateway;
      if (gateway === undefined || server.#services?.observes()) refuseUpgrade(stream, '503 Service Unavailable');
      else gateway.upgrade(request, stream, head, server.#hosts);
    });
    // Such as EMFILE when a connection comes. The server goes on; without a listener the error would end the process.
    server.#fastify.server.on('error', (error) =>
      server.#log.warn('the server had an error and goes on', { error: String(error) }),
    );
    return server;
  }

  /** Where it listens, with the real port: `http://127.0.0.1:7420`. */
  get address(): string {
    const { host, tls } = this.#options;
    const { port } = this.#fastify.server.address() as AddressInfo;
    return `${tls === undefined ? 'http' : 'https'}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  }

  /** The URL that others are told to call. Never the `Host` of a caller. */
  get publicAddress(): string {
    return this.#options.publicUrl ?? this.address;
  }

  open(services: OpenServices): void {
    this.#services = services;
    this.#unwatch = watchClock(services.engine.world, this.#log);
  }

  /** Sends the workers to another node. They may come back when this one serves them again. */
  sendWorkersAway(): void {
    this.#services?.gateway.sendAway();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#unwatch();
    this.#services?.access.close();
    this.#services?.logins.sessions.close();
    this.#services?.insight.stop();
    await this.#services?.gateway.close();
    await this.#services?.broadcaster.close();
    this.#ending = true;
    await this.#inFlight.drained(DRAIN_MS);
    await this.#fastify.close();
  }

  /** Refuses a host name that a foreign DNS points here, and calls from pages of other sites. */
  #refusalOf(request: FastifyRequest): EngineError | undefined {
    const { origin, 'sec-fetch-site': site } = request.headers;
    const host = hostOf(request.raw);
    if (!this.#hosts.isOurs(host)) {
      const problem = `this server does not answer to ${JSON.stringify(host ?? '')}`;
      const hint = `Ask for ${this.#options.host} instead, or name it with --public-host.`;
      return fault('WRONG_HOST', { problem }, { hint });
    }
    if (opensPage(request)) return undefined;
    const foreign = (origin !== undefined && !this.#hosts.isOurPage(origin, host)) || !OWN_SITE.has(site as string);
    return foreign ? fault('FORBIDDEN', { problem: 'pages of other sites may not call this server' }) : undefined;
  }

  /** Registers a route: it authorizes, validates, calls the handler and sends the answer. */
  #register<N extends RouteName>(name: N, handler: Handler<N>): void {
    const route: Route = ROUTES[name];
    this.#fastify.route({
      method: route.method,
      url: route.path.replace(/\{(\w+)\}/g, ':$1'),
      config: { name },
      // Before the body is read: a caller without a good token cannot make the server read one.
      onRequest: async (request) => {
        const principal = await this.#authorize(route, request);
        if (principal !== undefined) this.#principals.set(request, principal);
        if (this.#services?.observes() && isWrite(route)) throw fault('READ_ONLY');
        if (route.raw === true) await this.#admitHook(request);
        if (route.signed !== undefined) this.#admitTransfer(route.signed, route, request);
      },
      handler: async (request, reply) => {
        const principal = this.#principals.get(request);
        const services = this.#services;
        if (services === undefined && name !== 'health' && name !== 'ready') throw notOpen();
        const by = actorOf(principal, request.headers['x-leasehold-by']);
        const about = { ...aboutOf(request, name), by, status: route.status };
        const call = {
          ...(services as OpenServices),
          address: this.publicAddress,
          params: checked('path', route.params, request.params),
          query: checked('query', route.query, request.query),
          body: bodyOf(route, request),
          principal,
          by,
          audited: auditorFor(services?.audit, auditActor(principal, about)),
          whileAuthorized: (work: (ended: AbortSignal) => Promise<unknown>) => this.#whileAuthorized(principal, work),
          session: services === undefined ? undefined : sessionOf(services, request),
          request,
          reply,
          closing: this.#closing.signal,
        } as unknown as Call<N>;
        const work = async (): Promise<unknown> => handler(call);
        if (principal !== undefined) this.#begun.add(request);
        const answer = services === undefined ? await work() : await audited(services.audit, principal, about, work);
        if (answer === NO_CONTENT) return reply.code(204).send();
        if (answer instanceof RawResponse) return sendRaw(answer, reply);
        if (answer instanceof FileAnswer) return this.#sendFile(answer, principal, reply);
        if (answer instanceof EventStream) return this.#stream(answer, principal as Principal, reply);
        if (answer instanceof JsonText) {
          return reply.code(answer.status).type('application/json; charset=utf-8').send(answer.text);
        }
        if (name === 'ready' && (answer as { status: string }).status !== 'ready') reply.code(503);
        else reply.code(route.status ?? 200);
        if (route.text === 'prometheus') return reply.type('text/plain; version=0.0.4; charset=utf-8').send(answer);
        return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer));
      },
    });
  }

  /** By its head: a delivery that would be refused anyway is not read. */
  async #admitHook(request: FastifyRequest): Promise<void> {
    const { name } = request.params as { readonly name: string };
    await this.#services?.hooks.admit(name, placeOf(request.socket.remoteAddress ?? ''), request.headers);
  }

  /** By its head, too. What is signed is nobody's secret guess, so its answer need not wait. */
  #admitTransfer(way: Way, { params, query }: Route, request: FastifyRequest): void {
    if (this.#services === undefined) throw notOpen();
    const { id } = checked('path', params, request.params) as { readonly id: string };
    const asked = checked('query', query, request.query) as SignedQuery;
    this.#services.door.admit(way, id, asked, request.headers);
    this.#signed.add(request);
  }

  async #authorize(route: Route, request: FastifyRequest): Promise<Principal | undefined> {
    if (Object.hasOwn(request.query as object, 'token')) {
      throw fault('INVALID_INPUT', {
        field: 'query',
        problem: 'a token does not belong in an address, which is logged',
      });
    }
    const secret = bearerOf(request.headers.authorization, route.plain);
    if (this.#services === undefined) {
      if (route.access === 'open') return undefined;
      throw notOpen();
    }
    if (route.access === 'open' && secret === undefined) return this.#anonymous(route, request);
    const principal = await this.#authenticate(route, secret, request);
    this.#known.set(request, principal);
    if (!mayCall(principal.role, route.access)) {
      throw fault('FORBIDDEN', {
        problem: `this needs the role ${route.access}, and the token has the role ${principal.role}`,
      });
    }
    return principal;
  }

  /** A worker over HTTP may send its session instead of its secret, or both. */
  async #authenticate(route: Route, secret: string | undefined, request: FastifyRequest): Promise<Principal> {
    const { access } = this.#services as OpenServices;
    const session = route.access === 'worker' ? sessionOf(this.#services as OpenServices, request) : undefined;
    if (session !== undefined) {
      // With each call: a session is worth no more than the secret that it began with, whatever else the caller has.
      const principal = await access.stillValid({ role: 'worker', name: session.name, token: session.token });
      if (secret === undefined || (await access.authenticate(secret)).token === session.token) return principal;
      throw fault('FORBIDDEN', { problem: 'the session was begun with another secret than this one' });
    }
    const cookie = secret === undefined ? cookieOf(request.headers) : undefined;
    return cookie === undefined ? access.authenticate(secret) : this.#authenticateBrowser(cookie, request);
  }

  /**
   * A browser sends its cookie with every request that a page makes it send. Pages of other sites are refused before.
   * Besides, our own page sends a header with every change, which no form and no link can have.
   */
  async #authenticateBrowser(cookie: string, { method, headers }: FastifyRequest): Promise<Principal> {
    const principal = await (this.#services as OpenServices).logins.sessions.read(cookie);
    if (method === 'GET' || method === 'HEAD' || headers['x-leasehold-ui'] === '1') return principal;
    const problem = 'a page that changes something must send the header x-leasehold-ui: 1';
    throw fault('FORBIDDEN', { problem }, { hint: 'Programs send "Authorization: Bearer TOKEN" instead of a cookie.' });
  }

  /** On an open route a session that has ended counts as none. */
  #anonymous({ method }: Route, { headers }: FastifyRequest): Promise<Principal | undefined> | undefined {
    const cookie = method === 'GET' ? cookieOf(headers) : undefined;
    return cookie === undefined ? undefined : this.#services?.logins.sessions.read(cookie).catch(() => undefined);
  }

  async #stream(stream: EventStream, principal: Principal, reply: FastifyReply): Promise<unknown> {
    if (reply.request.method === 'HEAD') return reply.headers(STREAM_HEADERS).send();
    const close = this.#takeStream(principal);
    for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value as string);
    reply.hijack();
    this.#inFlight.end(reply.raw);
    this.#streams.add(reply.request);
    const ended = new AbortController();
    const stop = this.#services?.access.onRevoked(principal, () => ended.abort());
    const unwatch = this.#services?.logins.sessions.onEnded(principal, () => ended.abort());
    const stopTimer = this.#endWithSession(principal, () => ended.abort());
    try {
      await writeStream(reply.raw, stream.messages, AbortSignal.any([ended.signal, this.#closing.signal]));
    } catch (error) {
      this.#log.warn('a stream broke off', { request: reply.request.id, error: String(error) });
    } finally {
      stop?.();
      unwatch?.();
      stopTimer();
      close();
    }
    return reply;
  }

  async #sendFile(file: FileAnswer, principal: Principal | undefined, reply: FastifyReply): Promise<unknown> {
    reply.code(file.status).headers(file.headers);
    if (file.read === undefined) return reply.send();
    // A stream, since Fastify would put the length of any other body into the header.
    if (reply.request.method === 'HEAD') return reply.send(Readable.from([]));
    this.#streams.add(reply.request);
    const bytes = await file.read();
    const end = (): void => void bytes.destroy(new Error('its reader may read it no longer, or the node is closing'));
    const stops = [
      principal && this.#services?.access.onRevoked(principal, end),
      principal && this.#services?.logins.sessions.onEnded(principal, end),
      principal && this.#endWithSession(principal, end),
      watchStalls({
        socket: reply.raw.req.socket,
        way: 'get',
        size: Number(file.headers['content-length']),
        isTheirTurn: () => reply.raw.writableNeedDrain,
        onStall: end,
      }),
    ];
    this.#closing.signal.addEventListener('abort', end, { once: true });
    bytes.once('close', () => {
      for (const stop of stops) stop?.();
      this.#closing.signal.removeEventListener('abort', end);
    });
    return reply.send(bytes);
  }

  async #whileAuthorized<T>(principal: Principal | undefined, work: (ended: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const stop = principal && this.#services?.access.onRevoked(principal, end);
    const unwatch = principal && this.#services?.logins.sessions.onEnded(principal, end);
    const stopTimer = principal && this.#endWithSession(principal, end);
    try {
      const done = await work(ended.signal);
      if (ended.signal.aborted) throw fault('UNAUTHENTICATED');
      return done;
    } finally {
      stop?.();
      unwatch?.();
      stopTimer?.();
    }
  }

  #endWithSession({ until }: Principal, end: () => void): () => void {
    const world = this.#services?.engine.world;
    if (until === undefined || world === undefined) return () => {};
    return world.timers.after(Math.max(0, until - world.clock.wall()), end, { unref: true });
  }

  #takeStream({ token }: Principal): () => void {
    const { maxStreams = MOST_STREAMS } = this.#options;
    const open = this.#open.get(token) ?? 0;
    if (maxStreams > 0 && open >= maxStreams) {
      throw fault('TOO_MANY', { problem: `this token has ${open} streams open` });
    }
    this.#open.set(token, open + 1);
    return () => {
      const left = (this.#open.get(token) ?? 1) - 1;
      if (left === 0) this.#open.delete(token);
      else this.#open.set(token, left);
    };
  }

  /** Lets the answer to a stranger wait while there are many of them. */
  #keepPace(request: FastifyRequest, { raw, statusCode }: FastifyReply, done: () => void): void {
    if (this.#principals.has(request) || this.#signed.has(request)) return done();
    if (statusCode < 400) endUnread(request.raw);
    const waitMs = this.#ending ? 0 : this.#pace.waitMs(statusCode);
    if (waitMs === 0) return done();
    const timer = setTimeout(done, waitMs);
    raw.once('close', () => clearTimeout(timer));
  }

  #auditRefusal(request: FastifyRequest, status: number): void {
    const recorder = this.#services?.audit;
    if (status < 400 || recorder === undefined || this.#begun.has(request)) return;
    const [caller, code] = [this.#known.get(request), this.#codes.get(request)];
    void auditRefusal(recorder, caller, { ...aboutOf(request, nameOf(request)), status, code });
  }

  #refuse(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = errorOf(thrown);
    this.#codes.set(request, error.code);
    if (error.status >= 500) {
      this.#log.error('a request failed', { request: request.id, route: nameOf(request), error: stackOf(thrown) });
    }
    endUnread(request.raw);
    if (error.code === 'UNAUTHENTICATED') reply.header('www-authenticate', 'Bearer');
    if (error.retryable) reply.header('retry-after', String(secondsOf(error.details?.retryAfterMs)));
    const { rpc, plain } = routeOf(request) ?? {};
    const problem = rpc ? JSON.stringify(refuseRequest(error)) : plain ? plainText(error, request) : problemText(error);
    const status = plain ? plainStatus(error) : error.status;
    void reply.code(status).type('application/json; charset=utf-8').send(problem);
  }

  /** The routes that need more than the operator. */
  #handlers(): Handlers<Exclude<RouteName, OperatedName>> & Partial<Handlers<OperatedName>> {
    const { version, tls, publicUrl } = this.#options;
    const secure = tls !== undefined || publicUrl?.startsWith('https:') === true;
    const metrics = (): Promise<string> => (this.#services as OpenServices).metrics.text();
    return {
      health: () => ({ status: 'ok' }),
      ready: ({ principal }) => this.#ready(principal),
      ...systemRoutes({ version, address: () => this.publicAddress, metrics }),
      ...loginRoutes({ version, secure }),
      ...insightRoutes,
      ...pushRoutes,
      ...hookRoutes,
      ...artifactRoutes,
      ...logRoutes,
      ...workerRoutes,
      ...eventRoutes,
      ...loopdRoutes,
      ...loopRoutes,
      ...httpWorkerRoutes,
      ...tokenRoutes,
      ...a2aRoutes({ version }),
      ...mcpRoutes({ version }),
      ...rpcRoutes({ version }),
    };
  }

  /** The reasons are shown to authenticated callers only. */
  async #ready(principal: Principal | undefined): Promise<AnswerOf<'ready'>> {
    const reasons = this.#services === undefined ? ['its store is not open yet'] : await this.#services.obstacles();
    const status = reasons.length === 0 ? 'ready' : 'not ready';
    return principal === undefined || reasons.length === 0 ? { status } : { status, reasons };
  }
}

/** What is handed over as it came, or as it comes, has a form that its handler checks. */
function bodyOf(route: Route, { body }: FastifyRequest): unknown {
  if (route.raw === true) return body ?? '';
  return route.bytes === true ? undefined : checked('body', route.body, body ?? {});
}

/** The `Sec-Fetch-Site` of our own pages and of an address that was typed; programs send none. */
const OWN_SITE: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

function secondsOf(ms: unknown): number {
  return typeof ms === 'number' ? Math.max(1, Math.ceil(ms / 1000)) : 1;
}

/** The headers of every answer. */
function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
}

function sessionOf({ sessions }: OpenServices, { headers }: FastifyRequest): WorkerSession | undefined {
  const token = headers['x-session-token'];
  return typeof token === 'string' ? sessions.read(token) : undefined;
}

async function sendRaw({ response }: RawResponse, reply: FastifyReply): Promise<unknown> {
  const type = response.headers.get('content-type');
  if (type !== null) reply.type(type);
  return reply.code(response.status).send(Buffer.from(await response.arrayBuffer()));
}

/** The name of the route that matched. */
function nameOf(request: FastifyRequest): string {
  return (request.routeOptions.config as { readonly name?: string }).name ?? 'none';
}

function routeOf(request: FastifyRequest): Route | undefined {
  return (ROUTES as Readonly<Record<string, Route>>)[nameOf(request)];
}
