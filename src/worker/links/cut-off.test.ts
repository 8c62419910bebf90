/** Work goes on while its worker is cut off from its node for a part of a lease, whichever way it speaks. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { TcpProxy } from '../../../test/support/tcp-proxy.ts';
import { makeWorker } from '../../app/worker.ts';
import { realWorld } from '../../app/world.ts';
import { SILENT } from '../../engine/log.ts';
import type { Link } from '../../protocol/link.ts';
import { task } from '../define/task.ts';
import { HttpLink } from './http-link.ts';
import { renewMs } from './reconnect.ts';
import { WsLink } from './ws-link.ts';

const LEASE_MS = 9000;

type Make = (options: ConstructorParameters<typeof WsLink>[0]) => Link;
const LINKS: Readonly<Record<string, Make>> = {
  WebSocket: (options) => new WsLink(options),
  HTTP: (options) => new HttpLink(options),
};

/** A worker behind a test proxy, with a task that runs until the test ends it. */
async function rig(t: TestContext, make: Make) {
  const node = await nodeScene(t, { leaseMs: LEASE_MS });
  const proxy = await TcpProxy.before(node.service.address);
  t.after(() => proxy.close());
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'a' } });
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const hold = task('echo', {
    run: async () => {
      started.resolve();
      await end.promise;
      return 'done';
    },
  });
  const world = realWorld();
  const warnings: string[] = [];
  const log = { ...SILENT, warn: (message: string) => void warnings.push(message) };
  const link = make({ url: proxy.address, secret, world, log });
  const worker = makeWorker({ tasks: [hold], name: 'a' }, { link, world, log, name: 'a' });
  await worker.start();
  t.after(() => worker.stop({ drain: false }));
  const pushed = await node.engine.push({ queue: 'work', handler: 'echo' });
  await started.promise;
  return { node, proxy, worker, warnings, end: end.resolve, number: pushed.task };
}

// At once, each with a node of its own: they wait for the better part of two leases.
describe('a worker that is cut off', { concurrency: true }, () => {
  for (const [name, make] of Object.entries(LINKS)) {
    test(`${name}: a network that is deaf for a third of a lease, from the worst moment on, costs nothing`, async (t) => {
      const { node, proxy, worker, warnings, end, number } = await rig(t, make);
      // Just before it would be renewed for the first time.
      await pause(renewMs(LEASE_MS) * 0.9);
      proxy.goDeaf();
      await pause(LEASE_MS / 3);
      proxy.heal();
      // Long enough for a lease that was not renewed to be late, and lost.
      await pause(LEASE_MS - LEASE_MS / 3);
      end();
      await worker.stop();
      const record = await node.engine.get(number);
      assert.deepEqual([record?.state, record?.attempt, record?.tries], ['completed', 1, 1], warnings.join('\n'));
      assert.deepEqual(
        warnings.filter((warning) => warning.includes('lease')),
        [],
      );
    });
  }
});
