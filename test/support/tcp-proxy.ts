/** Stands between a worker and its node, and does to them what networks do. */
import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

/** The two ends of a connection; one that is deaf passes nothing on, and no end either. */
interface Pair {
  deaf: boolean;
  readonly sockets: Socket[];
}

export class TcpProxy {
  readonly #server: Server;
  readonly #target: NetConnectOpts;
  readonly #pairs = new Set<Pair>();
  #deaf = false;
  /** Connections that came, in all. */
  count = 0;

  private constructor(target: NetConnectOpts) {
    this.#target = target;
    this.#server = createServer((client) => this.#take(client));
  }

  /** `port`: where it is asked for; any free one unless it is said. */
  static before(address: string, port = 0): Promise<TcpProxy> {
    return TcpProxy.to({ host: '127.0.0.1', port: Number(new URL(address).port) }, port);
  }

  /** Also before what listens on a socket in the file system. */
  static async to(target: NetConnectOpts, port = 0): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(port, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as { readonly port: number }).port}`;
  }

  /** Half open: connections are there, and new ones are taken; whatever is sent on them is swallowed, and nobody hears of an end. */
  goDeaf(): void {
    this.#deaf = true;
    for (const pair of this.#pairs) pair.deaf = true;
  }

  /** New connections work. Those that went deaf stay so: what was swallowed cannot come back. */
  heal(): void {
    this.#deaf = false;
  }

  cut(): void {
    for (const { sockets } of this.#pairs) for (const socket of sockets) socket.destroy();
    this.#pairs.clear();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #take(client: Socket): void {
    this.count++;
    const pair: Pair = { deaf: this.#deaf, sockets: [client] };
    this.#pairs.add(pair);
    const ends = pair.deaf ? [client] : [client, connect(this.#target)];
    pair.sockets.splice(0, 1, ...ends);
    for (const [i, from] of ends.entries()) relay(pair, from, ends[1 - i]);
  }
}

function relay(pair: Pair, from: Socket, to: Socket | undefined): void {
  from.on('error', () => {});
  from.on('data', (chunk: Buffer) => {
    if (pair.deaf || to === undefined || to.write(chunk)) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  from.on('close', () => {
    if (!pair.deaf) to?.destroy();
  });
}
