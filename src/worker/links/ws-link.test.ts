/** The contract of a link, over a WebSocket to a node in this process. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { everythingGiven } from '../../../test/support/everything-given.ts';
import { DirectLink } from '../../app/link/direct-link.ts';
import { openNode } from '../../app/node.ts';
import type { Engine } from '../../engine/engine.ts';
import { SILENT } from '../../engine/log.ts';
import { Enrolment } from '../../operate/calls/enrolment.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import { newSecret } from '../../operate/secrets.ts';
import type { Hello, Link, Session } from '../../protocol/link.ts';
import { Access } from '../../server/auth/access.ts';
import { TokenService } from '../../server/auth/token-service.ts';
import { Hosts } from '../../server/http/hosts.ts';
import { LeaseTokens } from '../../server/workers/lease-tokens.ts';
import { WorkerGateway } from '../../server/workers/worker-gateway.ts';
import { WorkerNames } from '../../server/workers/worker-names.ts';
import { WorkerSettings } from '../../server/workers/worker-settings.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../testing.ts';
import { linkContract } from '../conformance/link-contract.ts';
import type { LinkSetting, LinkWorld } from '../conformance/scene.ts';
import { WsLink } from './ws-link.ts';

/** Workers get a secret as they come, and the tags that they say. */
class Enrolling implements Link {
  readonly sessions: Session[] = [];
  readonly #url: string;
  readonly #world: VirtualWorld;
  readonly #engine: Engine;
  readonly #spool: string | undefined;

  constructor(url: string, world: VirtualWorld, engine: Engine, spool: string | undefined) {
    this.#url = url;
    this.#world = world;
    this.#engine = engine;
    this.#spool = spool;
  }

  async open(hello: Hello): Promise<Session> {
    const secret = await new Enrolment(this.#engine.store).secret(hello.name, 'test');
    await this.#engine.workers.set({ name: hello.name, tags: hello.tags });
    const link = new WsLink({ url: this.#url, secret, world: this.#world, spool: this.#spool });
    const session = await link.open(hello);
    this.sessions.push(session);
    return session;
  }

  /** Whatever was sent has arrived: frames come in order. */
  async quiet(): Promise<void> {
    for (const session of this.sessions) await session.cancels().catch(() => {});
  }
}

async function listening(gateway: WorkerGateway): Promise<Server> {
  const server = createServer();
  server.on('upgrade', (request, stream, head) => gateway.upgrade(request, stream, head, new Hosts('127.0.0.1')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function setting(spool?: string): Promise<LinkSetting> {
  const world = new VirtualWorld();
  const node = await openNode('memory:', { world, duties: false, housekeeping: false, dutyMs: 86_400_000 });
  const gateway = new WorkerGateway({
    link: new DirectLink(node.engine, undefined, { givenTo: everythingGiven, place: { process: 'hub' } }),
    tokens: new LeaseTokens(new ClusterSecret('the secret of the test', node.engine.store.clusterKey)),
    access: new Access(newSecret('admin'), new TokenService(node.engine.store), world),
    settings: new WorkerSettings(node.engine, world),
    names: new WorkerNames({ store: node.engine.store, world, process: 'hub' }),
    world,
    log: SILENT,
  });
  const server = await listening(gateway);
  const link = new Enrolling(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, world, node.engine, spool);
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
    operator: node.engine,
    tick: (duty) => node.roster.tick(duty),
    world: seen,
    close: async () => {
      for (const session of link.sessions) await session.close();
      assert.ok(spool === undefined || !existsSync(spool), 'nothing is owed when everything was answered');
      await gateway.close();
      server.close();
      await node.close();
    },
  };
}

linkContract({
  name: 'WebSocket',
  open: () => setting(),
  skip: {
    'each start is a worker of its own, even under the same name':
      'a secret belongs to one worker: while it is connected, another process of that name is refused',
  },
});

const FOLDER = tempFolder('ws-link');
let spools = 0;

linkContract({
  name: 'WebSocket, with what is owed on disk',
  open: () => setting(join(FOLDER, String(++spools))),
  topics: ['settling', 'storing', 'fencing', 'logging', 'remembering and waiting', 'turns', 'reusing results'],
});
