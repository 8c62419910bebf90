/** A node that gives credentials and tasks, over a WebSocket and over HTTP, and remembers whatever its workers say. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import type { CredentialValue } from '../../../src/core/credential/value.ts';
import type { CredentialAck, CredentialOrder, VaultReport } from '../../../src/protocol/credential-envelope.ts';
import { TestCluster } from './sealer.ts';

export interface GivenTask {
  readonly handler: string;
  readonly input?: unknown;
  readonly credentials?: readonly string[];
}

type Request = { readonly type: string; readonly n: number } & Readonly<Record<string, unknown>>;

const TERMS = { leaseMs: 6000, heartbeatMs: 1000 };

export class CredentialNode {
  readonly cluster = new TestCluster();
  /** What each worker has said of its vault at last. */
  readonly vaults = new Map<string, VaultReport>();
  readonly acks: CredentialAck[] = [];
  /** Everything that came, as text. */
  readonly heard: string[] = [];
  readonly ends: Request[] = [];
  /** What it says that it can do. */
  can: readonly string[] = ['credential_ack'];
  /** What it signs with; undefined: it is an older node. */
  signer: string | undefined = this.cluster.signer;
  readonly #orders = new Map<string, CredentialOrder[]>();
  readonly #sockets = new Map<string, WebSocket>();
  readonly #tasks: GivenTask[] = [];
  readonly #claims: (() => void)[] = [];
  readonly #watching = new Set<() => void>();
  #task = 0;
  url = '';

  static async start(t: Pick<TestContext, 'after'>): Promise<CredentialNode> {
    const node = new CredentialNode();
    const server = createServer((request, response) => void node.#http(request, response));
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket) => node.#socket(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    t.after(() => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
    });
    return node;
  }

  /** Resolves when this holds; looked at whenever a worker has said something. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds()) return;
        this.#watching.delete(look);
        resolve();
      };
      this.#watching.add(look);
      look();
    });
  }

  seal(worker: string, name: string, version: number, value: CredentialValue): CredentialOrder {
    const { key = '' } = this.vaults.get(worker) ?? {};
    return { name, version, envelope: this.cluster.seal({ worker, key, name, version }, value) };
  }

  order(worker: string, order: CredentialOrder): void {
    const socket = this.#sockets.get(worker);
    if (socket === undefined) this.#ordersOf(worker).push(order);
    else if ('removed' in order) {
      socket.send(JSON.stringify({ type: 'credential_remove', name: order.name, version: order.version }));
    } else socket.send(JSON.stringify({ type: 'credential_push', ...order }));
  }

  /** Gives a value, and resolves when it was acknowledged. */
  async give(worker: string, name: string, version: number, value: CredentialValue): Promise<CredentialAck> {
    await this.until(() => this.vaults.has(worker));
    const before = this.acks.length;
    this.order(worker, this.seal(worker, name, version, value));
    await this.until(() => this.acks.length > before);
    return this.acks.at(-1) as CredentialAck;
  }

  push(task: GivenTask): void {
    this.#tasks.push(task);
    this.#claims.shift()?.();
  }

  /** Pushes a task, and resolves with the message of its end. */
  async run(task: GivenTask): Promise<Request> {
    const before = this.ends.length;
    this.push(task);
    await this.until(() => this.ends.length > before);
    return this.ends.at(-1) as Request;
  }

  /** Breaks all connections. */
  breakOff(): void {
    for (const socket of this.#sockets.values()) socket.terminate();
  }

  #ordersOf(worker: string): CredentialOrder[] {
    const orders = this.#orders.get(worker) ?? [];
    this.#orders.set(worker, orders);
    return orders;
  }

  #hear(text: string): void {
    this.heard.push(text);
    queueMicrotask(() => {
      for (const look of this.#watching) look();
    });
  }

  #greet(name: string, vault: VaultReport | undefined): object {
    if (vault !== undefined) this.vaults.set(name, vault);
    return this.signer === undefined ? TERMS : { ...TERMS, signer: this.signer };
  }

  #socket(socket: WebSocket): void {
    socket.on('error', () => {});
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      const said = JSON.parse(text) as Request | Request[];
      for (const one of Array.isArray(said) ? said : [said]) {
        if (one.type === 'connect') {
          const { name, vault } = one as unknown as { name: string; vault?: VaultReport };
          this.#sockets.set(name, socket);
          socket.send(JSON.stringify({ type: 'connect_ok', ...this.#greet(name, vault), can: this.can }));
        } else if (one.type !== 'alive') {
          void this.#answer(one).then((value) => socket.send(JSON.stringify({ type: 'ok', re: one.n, value })));
        }
      }
      this.#hear(text);
    });
  }

  async #answer(request: Request): Promise<unknown> {
    switch (request.type) {
      case 'task_claim':
        return this.#claim();
      case 'credential_ack':
        this.acks.push(request as unknown as CredentialAck);
        return undefined;
      case 'task_complete':
      case 'task_failed':
        this.ends.push(request);
        return request.type === 'task_failed' ? 'failed' : undefined;
      case 'journal':
      case 'cancels':
        return [];
      case 'task_turn':
        return this.#turn(request);
      case 'lease_renew':
        return (request['leases'] as unknown[]).map(() => 'held');
    }
    return undefined;
  }

  #turn(request: Request): unknown {
    const { go } = request['then'] as { readonly go: string };
    if (go !== 'on') this.ends.push(request);
    const entries = (request['entries'] as { readonly value?: string }[]).map(({ value }) => value ?? null);
    return { went: go === 'on' ? 'on' : 'ended', entries, ...(go === 'on' ? {} : { state: 'completed' }) };
  }

  async #claim(): Promise<unknown> {
    if (this.#tasks.length === 0) await new Promise<void>((resolve) => void this.#claims.push(resolve));
    const given = this.#tasks.shift();
    if (given === undefined) return [];
    const { handler, input = null, credentials } = given;
    const task = ++this.#task;
    const lease = { task, attempt: 1, token: 't', id: `task_${task}`, queue: handler, handler };
    const terms = { tries: 1, maxTries: 1, createdAt: 1, suspect: false };
    return [{ ...lease, payload: JSON.stringify(input), ...terms, ...(credentials && { credentials }) }];
  }

  async #http(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const [, , worker = '', call] = (request.url ?? '').split('/');
    const body = JSON.parse(text) as Request;
    const reply = (answer: unknown): void => void response.end(JSON.stringify(answer));
    if (worker === 'join') {
      const { name, vault } = body as unknown as { name: string; vault?: VaultReport };
      reply({ ...this.#greet(name, vault), worker: name, session: 'token' });
    } else if (call === 'ask') {
      const asked = body['asked'] as Request[];
      reply({
        answers: await Promise.all(
          asked.map(async (one) => ({ type: 'ok', re: one.n, value: await this.#answer(one) })),
        ),
      });
    } else if (call === 'heartbeat') {
      const { vault, credential_acks: acks = [] } = body as unknown as {
        vault: VaultReport;
        credential_acks?: CredentialAck[];
      };
      this.vaults.set(worker, vault);
      this.acks.push(...acks);
      reply({ renewed: [], lost: [], cancel: [], drain: false, credentials: this.#ordersOf(worker).splice(0, 50) });
    } else if (call === 'tasks') reply(await this.#claim());
    this.#hear(text);
  }
}
