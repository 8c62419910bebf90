/** The contract of a link, over a WebSocket to a hub in this process. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DirectLink } from '../app/direct-link.ts';
import { openNode } from '../app/node.ts';
import type { Engine } from '../engine/engine.ts';
import { SILENT } from '../engine/log.ts';
import type { Hello, Link, Session } from '../protocol/link.ts';
import { Access } from '../server/access.ts';
import { Hosts } from '../server/hosts.ts';
import { Hub } from '../server/hub.ts';
import { LeaseTokens } from '../server/lease-tokens.ts';
import { hashOf, newSecret } from '../server/secrets.ts';
import { VirtualWorld } from '../testing.ts';
import { linkContract } from './conformance/link-contract.ts';
import type { LinkSetting, LinkWorld } from './conformance/scene.ts';
import { WsLink } from './ws-link.ts';

/** Workers get a secret as they come, and the tags that they say. */
class Enrolling implements Link {
  readonly sessions: Session[] = [];
  readonly secrets = new Map<string, string>();
  readonly #url: string;
  readonly #world: VirtualWorld;
  readonly #engine: Engine;

  constructor(url: string, world: VirtualWorld, engine: Engine) {
    this.#url = url;
    this.#world = world;
    this.#engine = engine;
  }

  async open(hello: Hello): Promise<Session> {
    const secret = newSecret('worker');
    this.secrets.set(hashOf(secret), hello.name);
    await this.#engine.setWorker({ name: hello.name, tags: hello.tags });
    const session = await new WsLink({ urls: [this.#url], secret, world: this.#world }).open(hello);
    this.sessions.push(session);
    return session;
  }

  /** Whatever was sent has arrived: frames come in order. */
  async quiet(): Promise<void> {
    for (const session of this.sessions) await session.cancels().catch(() => {});
  }
}

async function listening(hub: Hub): Promise<Server> {
  const server = createServer();
  server.on('upgrade', (request, stream, head) => hub.upgrade(request, stream, head, new Hosts('127.0.0.1')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function setting(): Promise<LinkSetting> {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false, dutyMs: 86_400_000 });
  let link: Enrolling | undefined;
  const book = {
    find: (hash: string) => {
      const name = link?.secrets.get(hash);
      return Promise.resolve(name === undefined ? undefined : { role: 'worker' as const, name, token: 1 });
    },
    alive: (tokens: readonly number[]) => Promise.resolve(tokens.map(() => true)),
  };
  const hub = new Hub({
    link: new DirectLink(node.engine, undefined),
    tokens: new LeaseTokens(node.engine.store.clusterKey),
    access: new Access(newSecret('admin'), book, world),
    tagsOf: async (name) => (await node.engine.store.workerSettings()).find((one) => one.name === name)?.tags ?? [],
    world,
    log: SILENT,
  });
  const server = await listening(hub);
  link = new Enrolling(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, world, node.engine);
  const wires = link;
  const seen: LinkWorld = {
    clock: world.clock,
    timers: world.timers,
    random: world.random,
    advance: async (ms) => {
      await wires.quiet();
      await world.advance(ms);
      await wires.quiet();
    },
    settle: async () => {
      await wires.quiet();
      await world.settle();
    },
  };
  return {
    link,
    operator: node.engine,
    tick: (duty) => node.roster.tick(duty),
    world: seen,
    close: async () => {
      for (const session of wires.sessions) await session.close();
      await hub.close();
      server.close();
      await node.close();
    },
  };
}

linkContract({
  name: 'WebSocket',
  open: setting,
  skip: {
    'each start is a worker of its own, even under the same name':
      'a secret belongs to one worker: while it is connected, another process of that name is refused',
  },
});
