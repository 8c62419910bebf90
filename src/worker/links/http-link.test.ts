import { everythingGiven } from '../../../test/support/everything-given.ts';
import { frontOf } from '../../app/front.ts';
import { openNode } from '../../app/node.ts';
import type { App } from '../../app/open.ts';
import type { Engine } from '../../engine/engine.ts';
import { SILENT } from '../../engine/log.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { newSecret } from '../../operate/secrets.ts';
import type { Assignment, Hello, Link, Session } from '../../protocol/link.ts';
import { Server } from '../../server/server.ts';
import { VirtualWorld } from '../../testing.ts';
import { linkContract } from '../conformance/link-contract.ts';
import type { LinkSetting, LinkWorld } from '../conformance/scene.ts';
import { HttpLink } from './http-link.ts';

type Front = ReturnType<typeof frontOf>;

/** Workers get a secret as they come, and the tags that they say. */
class Enrolling implements Link {
  readonly sessions: Session[] = [];
  readonly #claims = new Set<Promise<readonly Assignment[]>>();
  readonly #url: string;
  readonly #world: VirtualWorld;
  readonly #engine: Engine;
  readonly #front: Front;

  constructor(url: string, world: VirtualWorld, engine: Engine, front: Front) {
    this.#url = url;
    this.#world = world;
    this.#engine = engine;
    this.#front = front;
  }

  async open(hello: Hello): Promise<Session> {
    const { grant } = await everythingGiven(hello.name);
    await this.#engine.workers.set({ name: hello.name, tags: hello.tags, grant });
    const secret = await this.#front.enrolment.secret(hello.name, 'test');
    const session = await new HttpLink({ url: this.#url, secret, world: this.#world }).open(hello);
    this.sessions.push(session);
    const claim = session.claim.bind(session);
    session.claim = (request) => {
      const claiming = claim(request).finally(() => this.#claims.delete(claiming));
      this.#claims.add(claiming);
      return claiming;
    };
    return session;
  }

  /** Waits until all requests are answered; a claim has a request of its own, which counts unless it waits. */
  async quiet(): Promise<void> {
    for (const session of this.sessions) await session.cancels().catch(() => {});
    while (this.#claims.size > 0 && !this.#engine.readyLanes.waiters.awaited)
      await new Promise((resolve) => void setImmediate(resolve));
  }
}

async function setting(): Promise<LinkSetting> {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false, dutyMs: 86_400_000 });
  const server = await Server.listen({ host: '127.0.0.1', port: 0, version: '0' });
  const { engine } = node;
  const front = frontOf({ engine, duties: () => [], blobs: node.blobs } as unknown as App, {
    adminToken: newSecret('admin'),
    signing: { secret: new ClusterSecret('the secret of the test', engine.store.clusterKey), earlier: undefined },
    log: SILENT,
    version: '0',
    samples: false,
  });
  server.open(front);
  const link = new Enrolling(server.address, world, engine, front);
  const seen: LinkWorld = {
    clock: world.clock,
    timers: world.timers,
    random: world.random,
    advance: async (ms) => {
      await link.quiet();
      await world.advance(ms);
      await link.quiet();
    },
    settle: async () => {
      await link.quiet();
      await world.settle();
    },
  };
  return {
    link,
    operator: engine,
    tick: (duty) => node.roster.tick(duty),
    world: seen,
    close: async () => {
      for (const session of link.sessions) await session.close();
      await server.close();
      await node.close();
    },
  };
}

linkContract({ name: 'HTTP', open: setting });
