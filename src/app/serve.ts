import { statSync } from 'node:fs';
import { checkTerms } from '../engine/duties/election.ts';
import type { DutyName } from '../engine/duties/roster.ts';
import { SILENT } from '../engine/log.ts';
import { CredentialSafe } from '../operate/credentials/safe.ts';
import type { PushBounds } from '../server/auth/push-guard.ts';
import { CredentialDesk } from '../server/credentials/desk.ts';
import type { StrangerTerms } from '../server/http/stranger-pace.ts';
import type { Allowance } from '../server/rpc/budget.ts';
import { Server } from '../server/server.ts';
import type { NodeDoing, QueueRecord } from '../store/store.ts';
import type { Worker } from '../worker/worker.ts';
import { type BuiltinOptions, builtinWorker, builtinWorkerOptions } from './builtin-worker.ts';
import type { ClusterOptions } from './cluster.ts';
import { admitNode, type NodeSecret } from './data/node-secret.ts';
import type { SecretSource } from './data/secret-source.ts';
import { type AgentOptions, frontOf } from './front.ts';
import type { NodeOptions } from './node.ts';
import { type App, openApp } from './open.ts';
import { uiFolder } from './ui-folder.ts';

export interface ServeOptions extends NodeOptions {
  readonly store: string;
  readonly host: string;
  readonly port: number;
  readonly version: string;
  /** Called once the address is bound, before the store is opened. */
  readonly prepare?: (() => void) | undefined;
  /** The token that may do everything. Made when it is asked for, once the address is bound. */
  readonly adminToken: () => string;
  /** Where the secret comes from that the nodes of the cluster share. */
  readonly secret: SecretSource;
  /** Other host names by which the server is called. */
  readonly names?: readonly string[] | undefined;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly insecure?: boolean | undefined;
  /** Agents of dazflow. */
  readonly agents?: AgentOptions | undefined;
  /** Where others reach it: the address that it tells them to call. */
  readonly publicUrl?: string | undefined;
  /** Connections per address, and streams per token, at a time; 0: no bound. */
  readonly maxConnections?: number | undefined;
  readonly maxStreams?: number | undefined;
  /** How fast callers without a token are answered. */
  readonly strangers?: StrangerTerms | undefined;
  readonly patience?: { readonly headersMs: number; readonly requestMs: number } | undefined;
  /** What a caller may push over the network. */
  readonly bounds?: Partial<PushBounds> | undefined;
  /** The built-in worker; undefined: none. */
  readonly worker?: BuiltinOptions | undefined;
  /** Its role in a cluster; undefined: it is not a node of one. */
  readonly cluster?: Omit<ClusterOptions, 'address' | 'version'> | undefined;
  /** How many JSON-RPC calls one caller may make in a time. */
  readonly rpcAllowance?: Allowance | undefined;
  /** Where the files of the web UI are; default: where they are built, or in the package. */
  readonly pages?: (() => string | undefined) | undefined;
  /** Whether it samples the totals every few seconds. Default: yes. */
  readonly samples?: boolean | undefined;
  /** How long a stop waits for running tasks. */
  readonly drainMs?: number;
}

/** The identity of the person who runs the node. */
const ADMIN = { role: 'admin', name: 'admin', token: undefined } as const;

/** A second stop does not wait for handlers that clean up. */
const AT_ONCE = { abortMs: 0, termMs: 0 };

/** What a person who watches a node wants to see at a glance. */
export interface NodeSnapshot {
  readonly queues: readonly QueueRecord[];
  /** The duties that this process holds. */
  readonly duties: readonly DutyName[];
  /** What this node does in its cluster; undefined: it is in none. */
  readonly role?: NodeDoing | undefined;
  /** The size of the store's files; undefined when it has none. */
  readonly storeBytes: number | undefined;
  /** What the built-in worker does; undefined when there is none. */
  readonly worker: WorkerSnapshot | undefined;
}

export interface WorkerSnapshot {
  readonly name: string;
  readonly slots: number;
  readonly running: number;
}

/** A node that answers over HTTP. */
export interface Service {
  readonly app: App;
  readonly address: string;
  /** A link that logs a browser in as admin, once, within ten minutes. */
  loginLink(): string;
  glance(): Promise<NodeSnapshot>;
  /** Replaces the built-in worker by another one; the old one finishes what it has. If the new one cannot start, the old one stays. */
  replaceWorker(options: BuiltinOptions): Promise<readonly string[]>;
  /** Drains; a second call with `force` stops what still runs at once. */
  close(options?: { readonly force?: boolean }): Promise<void>;
}

export async function serve(options: ServeOptions): Promise<Service> {
  if (options.cluster !== undefined) checkTerms(options.cluster.leaderLeaseMs, options.cluster.leaderRenewMs);
  // The address first: a second start on the same port, or a host that is refused, should leave no file behind.
  const {
    store,
    prepare,
    adminToken,
    secret: source,
    worker: wanted,
    drainMs: _,
    bounds,
    agents,
    cluster,
    rpcAllowance: rpc,
    pages = uiFolder,
    samples,
    ...most
  } = options;
  const { host, port, version, names, tls, insecure, publicUrl, maxConnections, maxStreams, ...others } = most;
  const { strangers, patience, ...rest } = others;
  const outside = {
    host,
    port,
    version,
    names,
    tls,
    insecure,
    publicUrl,
    maxConnections,
    maxStreams,
    strangers,
    timeouts: patience,
  };
  const server = await Server.listen({ ...outside, pages: () => pages(), log: rest.log });
  let app: App | undefined;
  try {
    prepare?.();
    let signing: NodeSecret | undefined;
    app = await openApp(store, rest, cluster && { ...cluster, address: server.address, version }, async (opened) => {
      signing = await admitNode(opened, source);
    });
    const token = adminToken();
    const log = rest.log ?? SILENT;
    const safe = new CredentialSafe((signing as NodeSecret).secret);
    const { engine } = app;
    const desk = new CredentialDesk({ engine, safe, world: engine.world, log });
    app.giveCredentials(desk);
    const worker = wanted === undefined || isObserver(app) ? undefined : builtinWorker(app, wanted);
    if (wanted !== undefined) app.poolWorkers(builtinWorkerOptions(wanted));
    await worker?.start();
    if (wanted !== undefined) app.executeTriggers(wanted);
    const front = frontOf(app, {
      adminToken: token,
      signing: signing as NodeSecret,
      desk,
      safe,
      surroundings: { behindProxy: insecure === true },
      log,
      version,
      agents,
      bounds,
      rpc,
      samples,
    });
    server.open(front);
    return new RunningService(app, server, worker, options, () => front.logins.link(ADMIN, server.publicAddress).url);
  } catch (error) {
    await server.close();
    await app?.close();
    throw error;
  }
}

function isObserver({ cluster }: App): boolean {
  return cluster?.membership.doing === 'observer';
}

class RunningService implements Service {
  readonly app: App;
  readonly address: string;
  readonly loginLink: Service['loginLink'];
  readonly #server: Server;
  readonly #options: ServeOptions;
  #worker: Worker | undefined;
  #workerOptions: BuiltinOptions | undefined;
  #closing: Promise<void> | undefined;
  /** Reactions to changes of the role, one after the other. */
  #roleChanges: Promise<void> = Promise.resolve();

  constructor(
    app: App,
    server: Server,
    worker: Worker | undefined,
    options: ServeOptions,
    loginLink: Service['loginLink'],
  ) {
    this.app = app;
    this.loginLink = loginLink;
    this.address = server.address;
    this.#server = server;
    this.#worker = worker;
    this.#workerOptions = options.worker;
    this.#options = options;
    app.cluster?.membership.onChange(() => {
      this.#roleChanges = this.#roleChanges.then(() => this.#follow()).catch((error: unknown) => this.#warn(error));
    });
  }

  async glance(): Promise<NodeSnapshot> {
    const worker = this.#worker;
    const { name, slots } = this.#workerOptions ?? { name: '', slots: 0 };
    return {
      queues: await this.app.queues(),
      duties: this.app.duties(),
      role: this.app.cluster?.membership.doing,
      storeBytes: storeBytes(this.#options.store),
      worker: worker === undefined ? undefined : { name, slots, running: worker.stats.running },
    };
  }

  async replaceWorker(options: BuiltinOptions): Promise<readonly string[]> {
    if (isObserver(this.app)) {
      this.#workerOptions = options;
      return [];
    }
    const next = builtinWorker(this.app, options);
    await next.start();
    this.app.poolWorkers(builtinWorkerOptions(options));
    const before = this.#worker;
    this.#worker = next;
    this.#workerOptions = options;
    void before?.stop(this.#drain());
    return next.handlers;
  }

  close({ force = false } = {}): Promise<void> {
    if (force) void this.app.stopWorkers({ drain: false, ladder: AT_ONCE });
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** An observer has no worker and serves none. A node that is an observer no more gets its worker back. */
  async #follow(): Promise<void> {
    if (this.#closing !== undefined) return;
    if (isObserver(this.app)) {
      this.#server.sendWorkersAway();
      const before = this.#worker;
      this.#worker = undefined;
      await before?.stop(this.#drain());
    } else if (this.#worker === undefined && this.#workerOptions !== undefined) {
      const next = builtinWorker(this.app, this.#workerOptions);
      await next.start();
      this.#worker = next;
    }
  }

  #warn(error: unknown): void {
    this.#options.log?.warn('the built-in worker could not be changed for the new role of its node', {
      error: String(error),
    });
  }

  /** Gives leadership and the duties away first, so that another node has them while this one finishes what it runs. */
  async #close(): Promise<void> {
    await this.app.cluster?.membership.resign();
    await this.#roleChanges;
    await this.#server.close();
    await this.app.stopWorkers(this.#drain());
    await this.app.close();
  }

  #drain(): { readonly drainMs?: number } {
    const { drainMs } = this.#options;
    return drainMs === undefined ? {} : { drainMs };
  }
}

/** The database and its log; either may be missing for a moment. */
function storeBytes(url: string): number | undefined {
  if (!url.startsWith('sqlite:')) return undefined;
  const file = url.slice('sqlite:'.length);
  const sizes = [file, `${file}-wal`].map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}
