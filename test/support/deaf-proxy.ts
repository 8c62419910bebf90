/** A relay between a client and a server that can be told to swallow everything, as a broken network does. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DeafProxy {
  /** The folder of its socket, for `?host=`. */
  readonly folder: string;
  /** From now on nothing passes on the connections that are there; new ones work. */
  readonly goDeaf: () => void;
  /** How many connections were made in all. */
  readonly count: () => number;
  readonly close: () => Promise<void>;
}

export async function deafProxy(serverFolder: string): Promise<DeafProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'lh-px-'));
  const pairs = new Set<readonly [Socket, Socket]>();
  const deaf = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    count++;
    const upstream = dial(join(serverFolder, '.s.PGSQL.5432'));
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const relay = (from: Socket, to: Socket): void => {
      from.on('data', (chunk) => void (deaf.has(client) || to.write(chunk)));
      from.on('error', () => {});
      from.on('close', () => {
        if (!deaf.has(client)) to.destroy();
      });
    };
    relay(client, upstream);
    relay(upstream, client);
  });
  await new Promise<void>((resolve) => void server.listen(join(folder, '.s.PGSQL.5432'), resolve));
  return {
    folder,
    goDeaf: () => {
      for (const [client] of pairs) deaf.add(client);
    },
    count: () => count,
    close: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The folder of the socket that a URL of ours names. */
export function socketFolder(url: string): string | undefined {
  return new URL(url.replace('@/', '@localhost/')).searchParams.get('host') ?? undefined;
}
