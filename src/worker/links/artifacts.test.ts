/** The contract of links for artifacts: in one process, over a WebSocket and over HTTP, with the bytes at a real node. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { everythingGiven } from '../../../test/support/everything-given.ts';
import { FaultyPlace } from '../../../test/support/files/artifact-place.ts';
import { frontOf } from '../../app/front.ts';
import { DirectLink } from '../../app/link/direct-link.ts';
import { type Node, openNode } from '../../app/node.ts';
import type { App } from '../../app/open.ts';
import { SILENT } from '../../engine/log.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { newSecret } from '../../operate/secrets.ts';
import type { Hello, Link, Session } from '../../protocol/link.ts';
import { Server } from '../../server/server.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../testing.ts';
import { linkContract } from '../conformance/link-contract.ts';
import type { LinkSetting } from '../conformance/scene.ts';
import { HttpLink } from './http-link.ts';
import { WsLink } from './ws-link.ts';

const folder = tempFolder('link-artifacts');

interface Ground {
  readonly world: VirtualWorld;
  readonly node: Node;
  readonly place: FaultyPlace;
}

async function ground(): Promise<Ground> {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false, dutyMs: 86_400_000 });
  return { world, node, place: new FaultyPlace(join(folder, randomUUID())) };
}

function settingOf({ world, node, place }: Ground, link: Link, close: () => Promise<void>): LinkSetting {
  return {
    link,
    operator: node.engine,
    tick: (duty) => node.roster.tick(duty),
    world,
    artifacts: place,
    close: async () => {
      await close();
      await place.close();
      await node.close();
    },
  };
}

const topics = ['artifacts'];

linkContract({
  name: 'direct',
  topics,
  open: async () => {
    const on = await ground();
    const link = new DirectLink(on.node.engine, undefined, { artifacts: { blobs: on.place.open } });
    return settingOf(on, link, async () => {});
  },
  skip: {
    'what belongs to a task of another run is not there for a joined worker, by whatever name':
      'a worker on the store itself may read all of it',
  },
});

type JoinedLink = typeof WsLink | typeof HttpLink;

async function joined(Way: JoinedLink): Promise<LinkSetting> {
  const on = await ground();
  const { engine } = on.node;
  const server = await Server.listen({ host: '127.0.0.1', port: 0, version: '0' });
  const front = frontOf({ engine, duties: () => [], blobs: on.place } as unknown as App, {
    adminToken: newSecret('admin'),
    signing: { secret: new ClusterSecret('the secret of the test', engine.store.clusterKey), earlier: undefined },
    log: SILENT,
    version: '0',
    samples: false,
  });
  server.open(front);
  const sessions: Session[] = [];
  const link: Link = {
    async open(hello: Hello): Promise<Session> {
      const { grant } = await everythingGiven(hello.name);
      await engine.workers.set({ name: hello.name, tags: hello.tags, grant });
      const secret = await front.enrolment.secret(hello.name, 'test');
      const session = await new Way({ url: server.address, secret, world: on.world }).open(hello);
      sessions.push(session);
      return session;
    },
  };
  return settingOf(on, link, async () => {
    for (const session of sessions) await session.close();
    await server.close();
  });
}

linkContract({ name: 'WebSocket', topics, open: () => joined(WsLink) });
linkContract({ name: 'HTTP', topics, open: () => joined(HttpLink) });
