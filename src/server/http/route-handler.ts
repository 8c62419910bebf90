import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { AuditRecorder } from '../../operate/audit/recorder.ts';
import type { Enrolment } from '../../operate/calls/enrolment.ts';
import type { EngineOperator } from '../../operate/engine-operator.ts';
import type { EventDetails } from '../../operate/event-details.ts';
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, RouteName } from '../../protocol/routes.ts';
import type { Principal } from '../auth/access.ts';
import type { Auditor } from '../auth/audit.ts';
import type { PushGuard } from '../auth/push-guard.ts';
import type { TokenService } from '../auth/token-service.ts';
import type { EventBroadcaster } from '../events/event-broadcaster.ts';
import type { HookService } from '../hooks/hook-service.ts';
import type { InsightService } from '../insight/insight-service.ts';
import type { LoopdRuns } from '../loopd/loopd-runs.ts';
import type { LoopdWorkers } from '../loopd/loopd-workers.ts';
import type { ServedRelease } from '../release/served-release.ts';
import type { RpcService } from '../rpc/rpc-service.ts';
import type { ByteDoor } from '../transfers/byte-door.ts';
import type { LoginService } from '../ui/login-service.ts';
import type { HttpWorkers } from '../workers/http-workers.ts';
import type { WorkerSession } from '../workers/session-tokens.ts';
import type { EventStream, FileAnswer, JsonText, NO_CONTENT, RawResponse } from './answers.ts';

/** The services that route handlers use. */
export interface Services {
  readonly engine: Engine;
  readonly broadcaster: EventBroadcaster;
  /** The workers of events, for all streams. */
  readonly details: EventDetails;
  /** Writes down who did what. */
  readonly audit: AuditRecorder;
  readonly tokens: TokenService;
  readonly enrolment: Enrolment;
  readonly httpWorkers: HttpWorkers;
  readonly steps: LoopdWorkers;
  readonly loops: LoopdRuns;
  readonly guard: PushGuard;
  readonly hooks: HookService;
  /** The way of bytes through this node. */
  readonly door: ByteDoor;
  readonly rpc: RpcService;
  readonly insight: InsightService;
  readonly logins: LoginService;
  /** The release of the worker that this node shows. */
  readonly release: ServedRelease;
  /** Where this node listens. */
  readonly address: string;
  /** When it began to listen, in calendar time. */
  readonly startedAt: number;
  /** The operator surface of the engine. */
  readonly operator: EngineOperator;
  /** Why this node cannot hand out work; empty when it can. */
  readonly obstacles: () => Promise<readonly string[]>;
  /** Whether this node is an observer. */
  readonly observes: () => boolean;
}

/** One request that is authorized and validated. */
export interface Call<N extends RouteName> extends Services {
  readonly params: ParamsOf<N>;
  readonly query: QueryOf<N>;
  readonly body: BodyOf<N>;
  readonly principal: Principal;
  /** The name that histories record. */
  readonly by: string;
  /** For a route with many methods: records each of them in the audit log. */
  readonly audited: Auditor;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** The session of a worker over HTTP. */
  readonly session: WorkerSession | undefined;
  /**
   * For work that waits: the signal comes when the token or the session of the caller has ended, within a second. The work
   * ends then, and the caller is told that its token is no longer good.
   */
  readonly whileAuthorized: <T>(work: (ended: AbortSignal) => Promise<T>) => Promise<T>;
  /** Comes when the server begins to close. Handlers that wait answer then. */
  readonly closing: AbortSignal;
}

type Answered<N extends RouteName> =
  | AnswerOf<N>
  | EventStream
  | RawResponse
  | JsonText
  | FileAnswer
  | typeof NO_CONTENT;
export type Handler<N extends RouteName> = (call: Call<N>) => Answered<N> | Promise<Answered<N>>;

export type Handlers<N extends RouteName> = { readonly [K in N]: Handler<K> };
