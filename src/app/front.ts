import { randomUUID } from 'node:crypto';
import { hookEnvironment } from '../config/environment.ts';
import { isEngineError } from '../core/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { Log } from '../engine/log.ts';
import { AuditRecorder } from '../operate/audit/recorder.ts';
import { Enrolment } from '../operate/calls/enrolment.ts';
import type { CredentialSafe } from '../operate/credentials/safe.ts';
import { EngineOperator } from '../operate/engine-operator.ts';
import { EngineSnapshot } from '../operate/engine-snapshot.ts';
import { EventDetails } from '../operate/event-details.ts';
import { stepsOfRuns } from '../operate/loops/loop-runs.ts';
import { HookSecrets } from '../operate/triggers/hook-secrets.ts';
import { Access } from '../server/auth/access.ts';
import { DEFAULT_BOUNDS, type PushBounds, PushGuard } from '../server/auth/push-guard.ts';
import { TokenService } from '../server/auth/token-service.ts';
import type { CredentialDesk } from '../server/credentials/desk.ts';
import type { Surroundings } from '../server/credentials/exposure.ts';
import { dazflowPlace } from '../server/dazflow/dazflow-place.ts';
import { EventBroadcaster } from '../server/events/event-broadcaster.ts';
import { HookService } from '../server/hooks/hook-service.ts';
import { Metrics } from '../server/http/metrics.ts';
import { errorOf } from '../server/http/refusals.ts';
import { InsightService } from '../server/insight/insight-service.ts';
import { LoopdRuns } from '../server/loopd/loopd-runs.ts';
import { LoopdWorkers } from '../server/loopd/loopd-workers.ts';
import { ServedRelease } from '../server/release/served-release.ts';
import { UpgradeWatch } from '../server/release/upgrade-watch.ts';
import type { Allowance } from '../server/rpc/budget.ts';
import { CallingNodes } from '../server/rpc/calling-nodes.ts';
import { RpcService } from '../server/rpc/rpc-service.ts';
import { GoingWebhooks } from '../server/rpc/webhook.ts';
import type { OpenServices } from '../server/server.ts';
import { AnnouncePace } from '../server/transfers/announce-pace.ts';
import { ByteDoor } from '../server/transfers/byte-door.ts';
import { TransferSigner } from '../server/transfers/transfer-signer.ts';
import { Transfers } from '../server/transfers/transfers.ts';
import { BrowserSessions } from '../server/ui/browser-sessions.ts';
import { LoginService } from '../server/ui/login-service.ts';
import { HttpWorkers } from '../server/workers/http-workers.ts';
import { LeaseTokens } from '../server/workers/lease-tokens.ts';
import { SessionTokens } from '../server/workers/session-tokens.ts';
import { WorkerGateway, type WorkerGatewayOptions } from '../server/workers/worker-gateway.ts';
import { WorkerNames } from '../server/workers/worker-names.ts';
import { WorkerSettings } from '../server/workers/worker-settings.ts';
import type { NodeSecret } from './data/node-secret.ts';
import { handlerSchemas } from './handler-schemas.ts';
import { DirectLink } from './link/direct-link.ts';
import type { GivenTo, NamePlace } from './link/link-terms.ts';
import { loopBundle } from './machines/loop-bundle.ts';
import type { App } from './open.ts';
import { releaseFolder } from './release/release-folder.ts';

/** A store that does not answer within this time cannot hand out work. */
const PATIENCE_MS = 2000;

/** How agents of dazflow are served. */
export type AgentOptions = Pick<WorkerGatewayOptions, 'byPath' | 'offlineMs'>;

export interface FrontOptions {
  readonly adminToken: string;
  /** What this node signs with. */
  readonly signing: NodeSecret;
  /** Gives credentials to workers. */
  readonly desk?: CredentialDesk | undefined;
  /** Seals the values of credentials. */
  readonly safe?: CredentialSafe | undefined;
  readonly surroundings?: Surroundings | undefined;
  readonly log: Log;
  readonly agents?: AgentOptions | undefined;
  readonly version: string;
  /** How many JSON-RPC calls one caller may make in a time. */
  readonly rpc?: Allowance | undefined;
  /** What a caller may push over the network. A bound that is not given has its default. */
  readonly bounds?: Partial<PushBounds> | undefined;
  /** Whether it samples the totals every few seconds, for the pages that show the last hour. Default: yes. */
  readonly samples?: boolean | undefined;
  /** Where the release of the worker is; default: where it is built, or in the package. */
  readonly release?: (() => string | undefined) | undefined;
}

/** Everything that the server works on, made from an open app. */
export function frontOf(app: App, options: FrontOptions): OpenServices {
  const { engine } = app;
  const { cluster } = app;
  const observes = (): boolean => cluster?.membership.doing === 'observer';
  const audit = new AuditRecorder(engine, options.log);
  const metrics = new Metrics(engine, {
    heldDuties: () => app.duties(),
    leads: () => cluster?.membership.leads ?? false,
    audit: () => audit.figures,
    unheld: () => cluster?.watchdog.unheld ?? new Map<string, number>(),
    silence: cluster?.silence,
    connected: () => gateway.connected,
  });
  const insight = new InsightService({ engine, schemas: handlerSchemas });
  const broadcaster = new EventBroadcaster(engine, (event) => {
    metrics.count(event);
    insight.addEvent(event);
  });
  const tokens = new TokenService(engine.store);
  broadcaster.start();
  if (options.samples ?? true) insight.start();
  const access = new Access(options.adminToken, tokens, engine.world);
  const guard = new PushGuard({
    bounds: { ...DEFAULT_BOUNDS, ...options.bounds },
    queues: () => engine.queues(),
    clock: engine.world.clock,
  });
  const admit = (worker: string, queue: string): Promise<void> =>
    guard.admit(`worker:${worker}`, new Map([[queue, 1]]));
  const settings = new WorkerSettings(engine, engine.world);
  const place: NamePlace = { process: cluster?.membership.incarnation ?? randomUUID(), node: cluster?.membership.id };
  const givenTo: GivenTo = (name) => settings.recent(name);
  const { secret, earlier } = options.signing;
  const signer = new TransferSigner(secret, () => engine.world.clock.wall());
  const blobs = app.blobs.open;
  const artifacts = app.blobs.isKnown
    ? { blobs, transfers: new Transfers({ signer, blobs }), admit: new AnnouncePace(engine.world.clock).admit }
    : undefined;
  const link = new DirectLink(engine, undefined, { ...app.terms, admit, givenTo, place, artifacts });
  const leases = new LeaseTokens(secret, earlier);
  const hookSecrets = new HookSecrets(secret, hookEnvironment());
  const sessions = new SessionTokens(secret);
  const { store, world } = engine;
  const browserSessions = new BrowserSessions({ store, access, adminKey: secret.key('admin token'), world });
  const release = new ServedRelease(options.release ?? releaseFolder, options.log);
  const upgrades = new UpgradeWatch({
    policy: () => engine.upgrades.policy(),
    served: async () => (await release.current())?.manifest.version,
    world,
  });
  const names = new WorkerNames({ store, world, process: place.process });
  const gateway = new WorkerGateway({
    link,
    tokens: leases,
    access,
    settings,
    names,
    upgrades,
    placeOf: (one) => dazflowPlace(engine, one),
    ...options.agents,
    desk: options.desk,
    surroundings: options.surroundings,
    world: engine.world,
    log: options.log,
  });
  const httpWorkers = new HttpWorkers({
    link,
    leases,
    sessions,
    settingOfJoining: (name, offered) => settings.ofJoining(name, offered),
    names,
    upgrades,
    clock: engine.world.clock,
    log: options.log,
    desk: options.desk,
    surroundings: options.surroundings,
  });
  return {
    engine,
    broadcaster,
    details: new EventDetails(engine),
    audit,
    tokens,
    enrolment: new Enrolment(engine.store),
    metrics,
    access,
    gateway,
    sessions,
    release,
    guard,
    hooks: new HookService({ engine, secrets: hookSecrets, guard }),
    door: new ByteDoor({ artifacts: engine.artifacts, blobs, signer, now: engine.world.clock.wall }),
    httpWorkers,
    steps: new LoopdWorkers({
      httpWorkers,
      leases,
      settingOf: (name) => settings.of(name),
      numberOf: (step) => engine.parseId(step),
      checkRefs: (task, refs) => engine.artifacts.checkRefs(task, refs),
      runsOf: (tasks) => stepsOfRuns(new EngineSnapshot(engine), tasks),
      clock: engine.world.clock,
    }),
    loops: new LoopdRuns({ engine, bundle: loopBundle }),
    rpc: new RpcService({
      engine,
      broadcaster,
      leases,
      version: options.version,
      settingOf: (name) => settings.of(name),
      settingOfJoining: (name, offered) => settings.ofJoining(name, offered),
      webhooks: new GoingWebhooks(engine),
      callingNodes: new CallingNodes({ names, place, now: engine.world.clock.monotonic }),
      recover: () => app.recoverStale(),
      schemas: handlerSchemas,
      obstacles: () => obstacles(engine),
      log: options.log,
      allowance: options.rpc,
      guard,
      observes,
    }),
    insight,
    logins: new LoginService(browserSessions, access, engine.world.clock),
    startedAt: Math.floor(engine.world.clock.wall()),
    operator: new EngineOperator(engine, cluster?.silence, hookSecrets, undefined, options.safe),
    observes,
    obstacles: async () => [...(observes() ? ['this node is an observer'] : []), ...(await obstacles(engine))],
  };
}

/** Why no work can be handed out; empty: it can. */
async function obstacles(engine: Engine): Promise<readonly string[]> {
  const deadline = AbortSignal.timeout(PATIENCE_MS);
  const timeout = new Promise<string>((resolve) =>
    deadline.addEventListener('abort', () => resolve(`the store has not answered for ${PATIENCE_MS / 1000} s`)),
  );
  const answer = engine.store.clock().then(
    () => undefined,
    (error: unknown) =>
      isEngineError(error) ? errorOf(error).message : error instanceof Error ? error.message : String(error),
  );
  const problem = await Promise.race([answer, timeout]);
  return problem === undefined ? [] : [problem];
}
