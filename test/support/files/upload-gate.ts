import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** In front of a node: it stops uploads in their middle, as a line that hangs does, and can be led to another address. */
export class UploadGate {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: string;
  #hold: { readonly after: number; readonly arrived: () => void } | undefined;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((client) => this.#take(client));
  }

  static async before(t: TestContext, target: string): Promise<UploadGate> {
    const gate = new UploadGate(target);
    gate.#server.listen(0, '127.0.0.1');
    await once(gate.#server, 'listening');
    t.after(() => {
      gate.#server.close();
      gate.cut();
    });
    return gate;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as { readonly port: number }).port}`;
  }

  /** The next upload comes to a halt after so many bytes, and stays there. Resolves when it has. */
  holdNext(after: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hold = { after, arrived: resolve };
    return promise;
  }

  leadTo(target: string): void {
    this.#target = target;
  }

  /** All connections break. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  #take(client: Socket): void {
    const { port } = new URL(this.#target);
    const onward = connect({ host: '127.0.0.1', port: Number(port) });
    let passed = 0;
    let hold: { readonly after: number; readonly arrived: () => void } | undefined;
    for (const socket of [client, onward]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('data', (chunk: Buffer) => {
      if (passed === 0 && chunk.subarray(0, 4).toString() === 'PUT ') {
        hold = this.#hold;
        this.#hold = undefined;
      }
      const part = hold === undefined ? chunk : chunk.subarray(0, Math.max(0, hold.after - passed));
      passed += part.length;
      if (part.length < chunk.length) {
        hold?.arrived();
        client.pause();
      }
      if (part.length > 0 && !onward.write(part) && !client.isPaused()) {
        client.pause();
        onward.once('drain', () => client.resume());
      }
    });
    onward.pipe(client);
    client.on('close', () => onward.destroy());
    onward.on('close', () => client.destroy());
  }
}
