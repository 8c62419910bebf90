/** Stands between a worker and its node, and does to them what networks do. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #deaf = false;
  /** Connections that came, in all. */
  count = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#take(client));
  }

  static async before(address: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(Number(new URL(address).port));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as { readonly port: number }).port}`;
  }

  /** Half open: connections are there, and new ones are taken; whatever is sent on them is swallowed, and nobody hears of an end. */
  goDeaf(): void {
    this.#deaf = true;
    for (const socket of this.#sockets) deafen(socket);
  }

  /** New connections work. Those that went deaf stay so: what was swallowed cannot come back. */
  heal(): void {
    this.#deaf = false;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }

  #take(client: Socket): void {
    this.count++;
    this.#keep(client);
    if (this.#deaf) {
      deafen(client);
      return;
    }
    const node = connect({ host: '127.0.0.1', port: this.#target, allowHalfOpen: true });
    this.#keep(node);
    relay(client, node);
    relay(node, client);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

function relay(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('close', () => {
    if (from.listenerCount('data') > 0 || !from.readableFlowing) to.destroy();
  });
}

function deafen(socket: Socket): void {
  socket.unpipe();
  socket.removeAllListeners('close');
  socket.resume();
}
