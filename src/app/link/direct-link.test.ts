import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openLocalStore } from '../../artifacts/local/local-store.ts';
import { fault } from '../../core/errors.ts';
import { ClusterSecret } from '../../operate/cluster-secret.ts';
import type { Hello } from '../../protocol/link.ts';
import { AnnouncePace } from '../../server/transfers/announce-pace.ts';
import { TransferSigner } from '../../server/transfers/transfer-signer.ts';
import { Transfers } from '../../server/transfers/transfers.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../../testing.ts';
import { linkContract } from '../../worker/conformance/link-contract.ts';
import type { LinkSetting } from '../../worker/conformance/scene.ts';
import { openNode } from '../node.ts';
import { DirectLink } from './direct-link.ts';
import { openRenewals } from './direct-renewals.ts';

const folder = tempFolder('direct-link');
const HELLO: Hello = { name: 'w', incarnation: 'i', slots: 8, tags: [], handlers: ['send'], queues: undefined };

async function setting(url: string): Promise<LinkSetting & { engine: Awaited<ReturnType<typeof openNode>>['engine'] }> {
  const world = new VirtualWorld();
  const node = await openNode(url, {
    world,
    duties: false,
    housekeeping: false,
    dutyMs: 86_400_000,
  });
  return {
    link: new DirectLink(node.engine, undefined),
    operator: node.engine,
    tick: (duty) => node.roster.tick(duty),
    world,
    close: () => node.close(),
    engine: node.engine,
  };
}

linkContract({ name: 'direct, memory', open: () => setting('memory:') });
linkContract({ name: 'direct, file', open: () => setting(`sqlite:${join(folder, `${randomUUID()}.db`)}`) });

test('a fault between the grant and its answer gives the tasks back with their tries', async (t) => {
  const { link, engine, close } = await setting('memory:');
  t.after(close);
  const session = await link.open(HELLO);
  const tasks: number[] = [];
  for (let n = 0; n < 3; n++) tasks.push((await engine.push({ queue: 'mail', handler: 'send', timeout: 500 })).task);
  // As if another process had pushed them: their spec is not known here.
  t.mock.method(engine, 'timeoutOf', () => Promise.reject(fault('STORE_BUSY')), { times: 1 });
  const signal = new AbortController().signal;
  assert.equal(await refusal(session.claim({ max: 5, waitMs: 0, signal })), 'STORE_BUSY');
  for (const task of tasks) {
    const record = await engine.get(task);
    assert.deepEqual([record?.state, record?.tries], ['ready', 0]);
  }
  t.mock.restoreAll();
  const again = await session.claim({ max: 5, waitMs: 0, signal });
  assert.deepEqual(
    again.map(({ timeoutMs, tries, suspect }) => [timeoutMs, tries, suspect]),
    [1, 2, 3].map(() => [500, 1, false]),
  );
});

test('a worker that announces files in a loop is refused before the store is asked', async (t) => {
  const { engine, world, close } = await setting('memory:');
  t.after(close);
  const place = await openLocalStore(join(folder, randomUUID()));
  const blobs = async () => place;
  const signer = new TransferSigner(new ClusterSecret('of the test', engine.store.clusterKey), world.clock.wall);
  const { admit } = new AnnouncePace(world.clock, { rate: 1, burst: 3 });
  const artifacts = { blobs, transfers: new Transfers({ signer, blobs }), admit };
  const session = await new DirectLink(engine, undefined, { artifacts }).open(HELLO);
  await engine.push({ queue: 'mail', handler: 'send' });
  const [lease] = await session.claim({ max: 1, waitMs: 0, signal: new AbortController().signal });
  const transfers = session.artifactTransfers;
  assert.ok(lease !== undefined && transfers !== undefined);
  const begin = (name: string) => transfers.begin(lease, { name, type: 'text/plain', size: 1, sha256: 'a'.repeat(64) });
  const { id } = await begin('1');
  await begin('2');
  assert.equal(await refusal(transfers.end(lease, id)), 'ARTIFACT_MISMATCH');
  assert.equal(await refusal(begin('3')), 'TOO_MANY');
  assert.equal(await refusal(transfers.end(lease, id)), 'TOO_MANY');
  assert.equal((await engine.artifacts.usage()).entries, 2);
  await world.advance(1000);
  await begin('3');
});

/** A store of its own in the real world, as the renewal thread opens it. */
async function apart(t: TestContext) {
  const url = `sqlite:${join(folder, `${randomUUID()}.db`)}`;
  const node = await openNode(url, { duties: false, housekeeping: false });
  const renewals = await openRenewals({ url, durability: 'normal' });
  t.after(async () => {
    await renewals.close();
    await node.close();
  });
  const session = await new DirectLink(node.engine, undefined).open(HELLO);
  const held = async (request: { maxAttempts?: number } = {}) => {
    await node.engine.push({ queue: 'mail', handler: 'send', ...request });
    const [assignment] = await session.claim({ max: 1, waitMs: 0, signal: new AbortController().signal });
    assert.ok(assignment);
    return assignment;
  };
  return { engine: node.engine, session, renewals, held };
}

test('the connection of the renewal thread renews, and reports cancel requests and lost leases', async (t) => {
  const { engine, session, renewals, held } = await apart(t);
  const [one, two, three] = [await held(), await held(), await held()];
  await engine.cancel(two.task);
  await session.complete(three, 1);
  assert.deepEqual(await renewals.renew([one, two, three], 3_600_000), ['held', 'cancel', 'lost']);
  const { nextInMs } = await engine.store.leaseOverdue({ limit: 10 });
  assert.ok((nextInMs ?? 0) > 3_500_000, `the next lease runs out in ${nextInMs} ms`);
});

test('the connection of the renewal thread ends an attempt that blocks its loop, by the policy of its task', async (t) => {
  const { engine, session, renewals, held } = await apart(t);
  const [again, last] = [await held({ maxAttempts: 2 }), await held({ maxAttempts: 1 })];
  await renewals.blocked(again, 1234);
  await renewals.blocked(last, 1234);
  const [attempt] = await engine.attempts(again.task);
  assert.deepEqual([(await engine.get(again.task))?.state, attempt?.outcome], ['scheduled', 'retried']);
  const record = await engine.get(last.task);
  assert.deepEqual([record?.state, record?.reason], ['failed', 'exhausted']);
  for (const text of [attempt?.error, record?.result]) {
    const { code, message } = JSON.parse(text ?? 'null') as { code: string; message: string };
    assert.equal(code, 'LOOP_BLOCKED');
    assert.match(message, /1234 ms/);
  }
  assert.equal(await refusal(session.complete(again, 'at last')), 'LEASE_LOST');
  assert.equal(await refusal(session.complete(last, 'at last')), 'LEASE_LOST');
});
