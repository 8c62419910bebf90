/** What every attack needs: a real node, somebody to attack it, and what it says of that. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServeOptions } from '../../src/app/serve.ts';
import { realWorld } from '../../src/app/world.ts';
import type { World } from '../../src/core/world.ts';
import { tempFolder } from '../../src/store/conformance/kit/temp-folder.ts';
import { type Answer, type NodeScene, nodeScene } from '../support/node-scene.ts';
import { freshDatabase } from '../support/postgres.ts';
import { type Greeting, RawWorker } from '../support/raw-worker.ts';

export const DAY_MS = 86_400_000;

export interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A node whose log is kept, and whose calendar can be set. */
export interface Target {
  readonly node: NodeScene;
  readonly log: readonly Line[];
  /** How far its calendar is ahead of ours. */
  readonly set: (aheadMs: number) => void;
}

export async function target(t: TestContext, options: Partial<ServeOptions> = {}): Promise<Target> {
  const log: Line[] = [];
  const note =
    (level: Line['level']) =>
    (message: string, fields: Line['fields'] = {}): void =>
      void log.push({ level, message, fields });
  let ahead = 0;
  const real = realWorld();
  const clock = { wall: () => real.clock.wall() + ahead, monotonic: real.clock.monotonic };
  const world: World = { clock, random: real.random, timers: real.timers };
  const said = { info: note('info'), warn: note('warn'), error: note('error') };
  const node = await nodeScene(t, { log: said, world, ...options });
  return {
    node,
    log,
    set: (aheadMs) => {
      ahead = aheadMs;
    },
  };
}

const folder = tempFolder('attacks');
let files = 0;

/** An empty store of each kind. */
export const STORES = {
  sqlite: async (): Promise<string> => `sqlite:${join(folder, `${++files}.db`)}`,
  postgres: (): Promise<string> => freshDatabase('attacks'),
} as const;

/** The code of a refusal, whose form must be that of all refusals. */
export function codeOf({ status, body }: Answer): string {
  assert.ok(status >= 400 && status < 500, `${status} ${JSON.stringify(body)}`);
  return `${status} ${body.code ?? body.error.code}`;
}

/** A worker of another host that was let in, and its secret. */
export async function hire(node: NodeScene, name: string): Promise<{ worker: RawWorker; secret: string }> {
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name } });
  const worker = await RawWorker.dial(node.service.address);
  await worker.enter({ name, secret });
  return { worker, secret };
}

/** Comes again until it is let in: the place of a name is free a moment after its connection has ended. */
export async function comeIn(node: NodeScene, given: Greeting): Promise<RawWorker> {
  for (;;) {
    const worker = await RawWorker.dial(node.service.address);
    if ((await worker.greet(given)).type === 'connect_ok') return worker;
    await worker.closed;
  }
}

/** A socket to the node on which nothing was said. */
export async function dial(t: TestContext, node: NodeScene): Promise<Socket> {
  const { hostname, port } = new URL(node.service.address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('close', () => reject(new Error('it was hung up on')));
  });
  return socket;
}

export interface Raw {
  readonly status: number;
  /** In lower case. */
  readonly head: string;
  readonly body: string;
}

/** One request as bytes, so that the attack decides every header, and all that comes back until the other side is done. */
export async function bytes(t: TestContext, node: NodeScene, head: string, body = ''): Promise<Raw> {
  const socket = await dial(t, node);
  socket.write(`${head}\r\nConnection: close\r\n\r\n${body}`);
  const chunks = await Array.fromAsync(socket as AsyncIterable<Buffer>).catch(() => []);
  const [start = '', ...rest] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  return { status: Number(start.split(' ')[1]), head: start.toLowerCase(), body: rest.join('\r\n\r\n') };
}

/** Until it holds; the timeout of the test is its patience. */
export async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await look())) await new Promise((resolve) => void setTimeout(resolve, 20));
}
