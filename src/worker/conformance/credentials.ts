import assert from 'node:assert/strict';
import type {
  CredentialAck,
  CredentialFeed,
  CredentialOrder,
  VaultReport,
} from '../../protocol/credential-envelope.ts';
import type { Session } from '../../protocol/link.ts';
import type { LinkScene, LinkTopic } from './scene.ts';

const bytes = (count: number, fill: number): string => Buffer.alloc(count, fill).toString('base64url');

/** No link looks into an envelope. */
const ENVELOPE = { v: 1, epk: bytes(32, 1), iv: bytes(12, 2), data: bytes(40, 3), sig: bytes(64, 4) } as const;
const NAME = 'worker-1';

const push = (name: string, version = 1): CredentialOrder => ({ name, version, envelope: ENVELOPE });

function vault(...holds: readonly string[]): VaultReport {
  return { key: bytes(32, 7), level: 'file', holds: holds.map((name) => ({ name, version: 1 })) };
}

/** Hears orders. Those that come with the answer to a heartbeat come with the next one. */
class Ear {
  readonly feed: CredentialFeed;
  readonly heard: CredentialOrder[] = [];
  readonly stop: () => void;
  readonly #session: Session;

  constructor(session: Session) {
    assert.ok(session.credentials, 'the link brings no credentials');
    this.#session = session;
    this.feed = session.credentials;
    this.stop = this.feed.subscribe((order) => this.heard.push(order));
  }

  async hear(count: number): Promise<readonly CredentialOrder[]> {
    for (let tries = 0; this.heard.length < count && tries < 100; tries++) {
      await this.#session.beat('online');
      // Answered, unlike a heartbeat that says nothing new: what was sent before has come by then.
      await this.#session.cancels();
    }
    assert.equal(this.heard.length, count);
    return this.heard;
  }
}

async function opened(scene: LinkScene, report: VaultReport | undefined = vault()): Promise<Session> {
  const session = await scene.open({ name: NAME, ...(report === undefined ? {} : { vault: report }) });
  await session.beat('online');
  return session;
}

export const CREDENTIALS: LinkTopic = {
  name: 'credentials',
  cases: {
    'the node is told the key of the worker, its level and what it holds': async (scene) => {
      await opened(scene, vault('db', 'mail'));
      assert.deepEqual(await scene.credentials.vaultOf(NAME), vault('db', 'mail'));
    },

    'an order arrives as it was given, and so does its acknowledgement': async (scene) => {
      const session = await opened(scene);
      const ear = new Ear(session);
      assert.equal(ear.feed.signer, scene.credentials.signer);
      scene.credentials.order(NAME, push('db', 3));
      scene.credentials.order(NAME, { name: 'old', version: 2, removed: true });
      assert.deepEqual(await ear.hear(2), [push('db', 3), { name: 'old', version: 2, removed: true }]);
      const acks: readonly CredentialAck[] = [
        { name: 'db', version: 3, status: 'stored', level: 'file' },
        { name: 'old', version: 2, status: 'removed' },
        { name: 'db', version: 4, status: 'failed', error: 'why' },
      ];
      await Promise.all(acks.map((ack) => ear.feed.ack(ack)));
      assert.deepEqual(await scene.credentials.acksOf(NAME), acks);
    },

    'orders from before anybody listens are not lost': async (scene) => {
      const session = await opened(scene);
      for (const name of ['a', 'b', 'c']) scene.credentials.order(NAME, push(name));
      await session.beat('online');
      await session.cancels();
      const ear = new Ear(session);
      assert.deepEqual(
        (await ear.hear(3)).map(({ name }) => name),
        ['a', 'b', 'c'],
      );
    },

    'many orders at once arrive in their order': async (scene) => {
      const ear = new Ear(await opened(scene));
      const names = Array.from({ length: 120 }, (_, i) => `c${i}`);
      for (const name of names) scene.credentials.order(NAME, push(name));
      assert.deepEqual(
        (await ear.hear(120)).map(({ name }) => name),
        names,
      );
    },

    'after it has stopped to listen a worker hears of nothing': async (scene) => {
      const session = await opened(scene);
      const ear = new Ear(session);
      scene.credentials.order(NAME, push('a'));
      await ear.hear(1);
      ear.stop();
      scene.credentials.order(NAME, push('b'));
      await session.beat('online');
      await session.cancels();
      assert.equal(ear.heard.length, 1);
    },

    'a worker without a vault is given nothing': async (scene) => {
      const session = await scene.open({ name: NAME });
      await session.beat('online');
      assert.equal(session.credentials, undefined);
      assert.equal(await scene.credentials.vaultOf(NAME), undefined);
    },
  },
};
