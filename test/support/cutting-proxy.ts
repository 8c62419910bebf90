import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** What becomes of an answer on its way: `through`, `lost` after the node has done it, or cut once so many bytes of it have passed. */
export type Fate = 'through' | 'lost' | { readonly cutAfter: number };

/** Between a client and a node over HTTP: it lets requests through and loses answers as it is told. */
export class CuttingProxy {
  /** Method and path of each request that came. */
  readonly seen: string[] = [];
  fate: (request: IncomingMessage) => Fate = () => 'through';
  readonly #target: URL;
  readonly #server = createServer((asked, answer) => this.#pass(asked, answer));

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(t: TestContext, target: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    t.after(() => {
      proxy.#server.closeAllConnections();
      proxy.#server.close();
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #pass(asked: IncomingMessage, answer: ServerResponse): void {
    this.seen.push(`${asked.method} ${asked.url}`);
    const fate = this.fate(asked);
    const { hostname, port } = this.#target;
    const onward = request(
      { hostname, port, method: asked.method, path: asked.url, headers: { ...asked.headers, host: this.#target.host } },
      (got) => {
        if (fate === 'lost') {
          got.resume().on('end', () => answer.destroy());
          return;
        }
        answer.writeHead(got.statusCode ?? 500, got.headers);
        answer.flushHeaders();
        let left = fate === 'through' ? Number.POSITIVE_INFINITY : fate.cutAfter;
        got.on('data', (chunk: Buffer) => {
          // On the wire before the connection ends: what is cut is the rest.
          const part = chunk.subarray(0, left);
          left -= part.length;
          answer.write(part, () => void (left <= 0 && answer.destroy()));
        });
        got.on('end', () => answer.end());
        got.on('error', () => answer.destroy());
        answer.on('close', () => got.destroy());
      },
    );
    onward.on('error', () => answer.destroy());
    asked.pipe(onward);
  }
}
