/** A hub with all that is behind it, in memory and on a virtual clock: time moves only when a test moves it. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { DirectLink } from '../../src/app/link/direct-link.ts';
import { type Node, openNode } from '../../src/app/node.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { Enrolment } from '../../src/operate/calls/enrolment.ts';
import { ClusterSecret } from '../../src/operate/cluster-secret.ts';
import { CredentialSafe } from '../../src/operate/credentials/safe.ts';
import { newSecret } from '../../src/operate/secrets.ts';
import type { Link } from '../../src/protocol/link.ts';
import { Access } from '../../src/server/auth/access.ts';
import { TokenService } from '../../src/server/auth/token-service.ts';
import { CredentialDesk } from '../../src/server/credentials/desk.ts';
import { dazflowPlace } from '../../src/server/dazflow/dazflow-place.ts';
import { Hosts } from '../../src/server/http/hosts.ts';
import { UpgradeWatch } from '../../src/server/release/upgrade-watch.ts';
import { LeaseTokens } from '../../src/server/workers/lease-tokens.ts';
import { WorkerGateway } from '../../src/server/workers/worker-gateway.ts';
import { WorkerNames } from '../../src/server/workers/worker-names.ts';
import { WorkerSettings } from '../../src/server/workers/worker-settings.ts';
import { VirtualWorld } from '../../src/testing.ts';
import { PlainAgent } from './dazflow-agent.ts';
import { everythingGiven } from './everything-given.ts';
import { type Greeting, RawWorker } from './raw-worker.ts';

export interface GatewaySceneOptions {
  readonly leaseMs?: number;
  /** Agents may come with their secret in the address. */
  readonly byPath?: boolean;
  readonly offlineMs?: number;
  readonly runTimeoutMs?: number;
  /** The hub gives credentials. */
  readonly credentials?: boolean;
  /** The release that it serves. */
  readonly served?: string;
  /** What stands between the hub and the engine. */
  readonly link?: (direct: Link) => Link;
}

export interface Complaint {
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

export class GatewayScene {
  readonly world: VirtualWorld;
  readonly gateway: WorkerGateway;
  readonly enrolment: Enrolment;
  readonly tokens: TokenService;
  readonly admin: string;
  readonly complaints: Complaint[];
  readonly #node: Node;
  readonly #server: Server;

  constructor(
    parts: Pick<GatewayScene, 'world' | 'gateway' | 'admin' | 'complaints'> & { node: Node; server: Server },
  ) {
    this.world = parts.world;
    this.gateway = parts.gateway;
    this.admin = parts.admin;
    this.complaints = parts.complaints;
    this.#node = parts.node;
    this.#server = parts.server;
    this.enrolment = new Enrolment(this.engine.store);
    this.tokens = new TokenService(this.engine.store);
  }

  get engine(): Engine {
    return this.#node.engine;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The secret of a worker; the others of its name have ended. */
  enrol(name: string): Promise<string> {
    return this.enrolment.secret(name, 'test');
  }

  dial(): Promise<RawWorker> {
    return RawWorker.dial(this.address);
  }

  /** A worker that was let in, with a secret of its own unless it is given one. */
  async worker(given: Greeting): Promise<RawWorker> {
    const { secret = await this.enrol(given.name) } = given;
    const worker = await this.dial();
    await worker.enter({ ...given, secret });
    return worker;
  }

  /** The secret of an agent. It says no handlers, so somebody else has. */
  async enrolAgent(name: string): Promise<string> {
    await this.engine.workers.set({ name, grant: { handlers: null } });
    return this.enrol(name);
  }

  /** A dazflow agent that was let in. */
  async agent(name: string): Promise<PlainAgent> {
    return PlainAgent.enter(this.address, { name, secret: await this.enrolAgent(name) });
  }

  push(input?: unknown): Promise<{ readonly task: number; readonly id: string }> {
    return this.engine.push({ queue: 'work', handler: 'echo', ...(input === undefined ? {} : { input }) });
  }

  tick(duty: 'reaper' | 'stager'): Promise<unknown> {
    return this.#node.roster.tick(duty);
  }

  async close(): Promise<void> {
    await this.gateway.close();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    await this.#node.close();
  }
}

export async function hubScene(t: TestContext, options: GatewaySceneOptions = {}): Promise<GatewayScene> {
  const { leaseMs, byPath, offlineMs, runTimeoutMs, link, credentials = false, served } = options;
  const world = new VirtualWorld();
  const complaints: Complaint[] = [];
  const note = (message: string, fields?: Complaint['fields']): void => void complaints.push({ message, fields });
  const node = await openNode('memory:', {
    world,
    duties: false,
    housekeeping: false,
    dutyMs: 86_400_000,
    ...(leaseMs === undefined ? {} : { leaseMs }),
  });
  const { engine } = node;
  const direct = new DirectLink(engine, undefined, {
    runTimeoutMs,
    givenTo: everythingGiven,
    place: { process: 'hub' },
  });
  const admin = newSecret('admin');
  const secret = new ClusterSecret('the secret of the test', engine.store.clusterKey);
  const log = { info: note, warn: note, error: note };
  const desk = credentials ? new CredentialDesk({ engine, safe: new CredentialSafe(secret), world, log }) : undefined;
  const gateway = new WorkerGateway({
    desk,
    link: link === undefined ? direct : link(direct),
    tokens: new LeaseTokens(secret),
    access: new Access(admin, new TokenService(engine.store), world),
    settings: new WorkerSettings(engine, world),
    names: new WorkerNames({ store: engine.store, world, process: 'hub' }),
    upgrades: new UpgradeWatch({
      policy: () => engine.upgrades.policy(),
      served: () => Promise.resolve(served),
      world,
    }),
    byPath,
    placeOf: (one) => dazflowPlace(engine, one),
    offlineMs,
    world,
    log,
  });
  const server = createServer((_request, response) => void response.writeHead(404).end());
  server.on('upgrade', (request, stream, head) => gateway.upgrade(request, stream, head, new Hosts('127.0.0.1')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const scene = new GatewayScene({ world, gateway, admin, complaints, node, server });
  t.after(() => scene.close());
  return scene;
}
