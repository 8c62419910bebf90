/** The gateways of Universal Agent: one behind an address, one within the process. */
import { randomUUID } from 'node:crypto';
import { GatewayClient, isMap, type ValueMap } from '../../app/library/gateways.ts';
import { refuse } from '../refuse.ts';
import { EventQueue } from './event-queue.ts';
import {
  type GatewayEvent,
  GatewayRequest,
  type GatewayRequestFields,
  type GatewayResult,
  type GatewaySession,
  ResultOfEvents,
} from './gateway-shapes.ts';
import { getRun } from './run-functions.ts';
import type { RuntimeDb } from './runtime-db.ts';

export interface NewSession {
  readonly user_id: string;
  readonly workspace_dir?: string | null;
  readonly session_id?: string | null;
}

/** What both gateways do. `runQuery` collects what `execute` tells. */
export interface AgentGateway {
  createSession(session: NewSession): Promise<GatewaySession>;
  /** Throws for one that is not there. */
  resumeSession(sessionId: string): Promise<GatewaySession>;
  execute(
    session: GatewaySession,
    request: GatewayRequestFields,
    options?: ExecuteOptions,
  ): AsyncIterable<GatewayEvent>;
  runQuery(session: GatewaySession, request: GatewayRequestFields, options?: QueryOptions): Promise<GatewayResult>;
  listSessions(): Promise<readonly GatewaySession[]>;
  healthCheck(): Promise<boolean>;
  close(): Promise<void>;
}

export interface ExecuteOptions {
  readonly signal?: AbortSignal;
  /** The same for what is the same request asked again; default: one of its own. */
  readonly key?: string;
}

export interface QueryOptions extends ExecuteOptions {
  readonly eventCallback?: (event: GatewayEvent) => void;
}

abstract class BaseGateway {
  abstract execute(
    session: GatewaySession,
    request: GatewayRequestFields,
    options?: ExecuteOptions,
  ): AsyncIterable<GatewayEvent>;

  /** Throws for a request that is none; what the agent does wrong the result says. */
  async runQuery(
    session: GatewaySession,
    request: GatewayRequestFields,
    { eventCallback, ...options }: QueryOptions = {},
  ): Promise<GatewayResult> {
    const asked = new GatewayRequest(request);
    const result = new ResultOfEvents(session.session_id);
    try {
      for await (const event of this.execute(session, asked, options)) {
        result.take(event);
        eventCallback?.(event);
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      result.fail(error instanceof Error ? error.message : String(error));
    }
    return result.end();
  }
}

/** The HTTP and WebSocket API, under `/api/v1` of the address. */
export class ExternalGateway extends BaseGateway implements AgentGateway {
  readonly #client: GatewayClient;

  constructor(options: {
    readonly base_url?: string;
    readonly baseUrl?: string;
    readonly token?: string;
    readonly timeoutMs?: number;
  }) {
    super();
    const url = options.base_url ?? options.baseUrl;
    if (typeof url !== 'string') throw refuse('base_url', 'it is the address of the gateway');
    const { token, timeoutMs } = options;
    this.#client = new GatewayClient({
      url,
      ...(token === undefined ? {} : { token }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  }

  async createSession({ user_id, workspace_dir, session_id }: NewSession): Promise<GatewaySession> {
    const body = { user_id, ...given({ workspace_dir, session_id }) };
    return sessionOf(await this.#client.call('POST', 'sessions', body), user_id);
  }

  async resumeSession(sessionId: string): Promise<GatewaySession> {
    const found = await this.#client.call('GET', `sessions/${encodeURIComponent(sessionId)}`);
    if (found === undefined) throw refuse('session_id', `the gateway has no session ${sessionId}`);
    return sessionOf(found, '');
  }

  async listSessions(): Promise<readonly GatewaySession[]> {
    const found = await this.#client.call('GET', 'sessions');
    const list = Array.isArray(found)
      ? found
      : isMap(found) && Array.isArray(found['sessions'])
        ? found['sessions']
        : [];
    return (list as readonly unknown[]).filter(isMap).map((one) => sessionOf(one, ''));
  }

  async healthCheck(): Promise<boolean> {
    try {
      return (await this.#client.call('GET', 'health')) !== undefined;
    } catch {
      return false;
    }
  }

  async *execute(
    { session_id }: GatewaySession,
    fields: GatewayRequestFields,
    { signal, key = randomUUID() }: ExecuteOptions = {},
  ): AsyncIterable<GatewayEvent> {
    const { user_input, force_complex, metadata, context, max_iterations } = new GatewayRequest(fields);
    const stop = new AbortController();
    const events = new EventQueue<GatewayEvent>();
    const asked = {
      prompt: user_input,
      key,
      forceComplex: force_complex,
      maxIterations: max_iterations ?? undefined,
      metadata: { ...metadata, ...(context === null ? {} : { context }) } as ValueMap,
    };
    const stopped = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    const onEvent = (event: ValueMap): void => events.push(event as unknown as GatewayEvent);
    this.#client.execute(session_id, asked, { signal: stopped, onEvent }).then(
      ({ error }) => events.end(error === undefined ? undefined : new Error(error.message)),
      (error: unknown) => events.end(error),
    );
    try {
      yield* events;
    } finally {
      // Whoever stops listening ends the request.
      stop.abort(new Error('nobody listens any more'));
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** What an agent within the process is told besides the request. */
export interface InProcessCall {
  readonly session: GatewaySession;
  readonly signal: AbortSignal;
  /** The same for what is the same request asked again. */
  readonly key: string;
}

/** Gives events, or the whole answer: a text or a result. */
export type InProcessAgent = (request: GatewayRequest, call: InProcessCall) => unknown;

/** An agent that is a function of this process. Sessions last as long as it does. */
export class InProcessGateway extends BaseGateway implements AgentGateway {
  readonly #agent: InProcessAgent;
  readonly #sessions = new Map<string, GatewaySession>();
  readonly #over = new AbortController();

  constructor(agent: InProcessAgent) {
    super();
    if (typeof agent !== 'function') throw refuse('agent', 'it is a function that takes a request');
    this.#agent = agent;
  }

  createSession({ user_id, workspace_dir, session_id }: NewSession): Promise<GatewaySession> {
    const session = {
      session_id: session_id ?? randomUUID(),
      user_id,
      workspace_dir: workspace_dir ?? '',
      metadata: {},
    };
    this.#sessions.set(session.session_id, session);
    return Promise.resolve(session);
  }

  async resumeSession(sessionId: string): Promise<GatewaySession> {
    const found = this.#sessions.get(sessionId);
    if (found === undefined) throw refuse('session_id', `there is no session ${sessionId}`);
    return found;
  }

  listSessions(): Promise<readonly GatewaySession[]> {
    return Promise.resolve([...this.#sessions.values()]);
  }

  healthCheck(): Promise<boolean> {
    return Promise.resolve(!this.#over.signal.aborted);
  }

  async *execute(
    session: GatewaySession,
    fields: GatewayRequestFields,
    { signal, key = randomUUID() }: ExecuteOptions = {},
  ): AsyncIterable<GatewayEvent> {
    const over = this.#over.signal;
    const stop = signal === undefined ? over : AbortSignal.any([signal, over]);
    stop.throwIfAborted();
    const given = await this.#agent(new GatewayRequest(fields), { session, signal: stop, key });
    if (typeof given === 'object' && given !== null && Symbol.asyncIterator in given) {
      for await (const event of given as AsyncIterable<GatewayEvent>) {
        stop.throwIfAborted();
        yield event;
      }
      return;
    }
    if (typeof given === 'string') yield { type: 'text', data: { text: given } };
    yield { type: 'query_complete', data: isMap(given) ? given : {} };
  }

  /** Ends what is under way. */
  close(): Promise<void> {
    this.#over.abort(new Error('the gateway is closed'));
    return Promise.resolve();
  }
}

/**
 * A handler of runs over a gateway: `(run_id, workspace_dir) => success`. The session has the name of the run, so that after a crash the run goes
 * on in it. What the gateway does wrong is an error with its words.
 */
export function gatewayRunHandler(
  conn: RuntimeDb,
  gateway: AgentGateway,
  options: QueryOptions = {},
): (runId: string, workspaceDir?: string | null) => Promise<boolean> {
  return async (runId, workspaceDir) => {
    const run = await getRun(conn, runId);
    if (run === null) throw refuse('run_id', `there is no run ${runId}`);
    const session_id = runId;
    const workspace_dir = workspaceDir ?? run.workspace_dir;
    const session = await gateway
      .resumeSession(session_id)
      .catch(() => gateway.createSession({ user_id: `worker_${runId}`, workspace_dir, session_id }));
    const { last_job_prompt: user_input, max_iterations } = run;
    const result = await gateway.runQuery(session, { user_input, ...given({ max_iterations }) }, options);
    if (result.error !== null) throw new Error(result.error);
    return result.success;
  };
}

function sessionOf(value: unknown, user: string): GatewaySession {
  const { session_id, user_id, workspace_dir, metadata } = isMap(value) ? value : ({} as ValueMap);
  if (typeof session_id !== 'string' || session_id === '') throw refuse('session_id', 'the gateway gave none');
  return {
    session_id,
    user_id: typeof user_id === 'string' ? user_id : user,
    workspace_dir: typeof workspace_dir === 'string' ? workspace_dir : '',
    metadata: isMap(metadata) ? metadata : {},
  };
}

function given<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
