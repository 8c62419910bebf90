import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubScene } from '../../../test/support/gateway-scene.ts';
import { EngineOperator } from '../../operate/engine-operator.ts';

const RELEASE = { version: '0.1.0', protocol: [1, 1], updater: { state: 'ready' } };

test('a worker is told to come back as another release while it is connected, and its row says what it is', async (t) => {
  const scene = await hubScene(t, { served: '0.2.0' });
  const worker = await scene.worker({ name: 'box', release: RELEASE });
  await worker.ask('heartbeat', { state: 'online' });
  const operator = new EngineOperator(scene.engine);
  const [before] = (await operator.call('listWorkers')).workers;
  assert.deepEqual(before?.release, RELEASE);
  assert.equal(before?.metrics, undefined);

  await operator.call('editUpgrade', { body: { target: '0.2.0' } });
  const told = worker.hear(({ type }) => type === 'upgrade_required');
  await scene.world.advance(2500);
  assert.deepEqual(await told, { type: 'upgrade_required', current_version: '0.1.0', required_version: '0.2.0' });
  const { workers } = await operator.call('getUpgrade');
  assert.deepEqual(workers, [{ name: 'box', state: 'online', ...RELEASE, wanted: '0.2.0' }]);
});

test('a worker of a refused release, or of a protocol of its own, is refused at its join', async (t) => {
  const scene = await hubScene(t, { served: '0.2.0' });
  await scene.engine.upgrades.edit({ refuse: ['0.1.0'] });
  const secret = await scene.enrol('box');
  for (const release of [RELEASE, { ...RELEASE, version: '0.3.0', protocol: [7, 9] }]) {
    const worker = await scene.dial();
    const { code } = await worker.refused({ name: 'box', secret, release });
    assert.equal(code, 'UPGRADE_REQUIRED');
  }
  const worker = await scene.dial();
  assert.equal((await worker.refused({ name: 'box', secret, release: { version: 7 } })).code, 'INVALID_INPUT');
  await scene.worker({ name: 'older' });
});

test('a dazflow agent is told which version is wanted, and its status says so until it goes', async (t) => {
  const scene = await hubScene(t);
  await scene.engine.upgrades.edit({ target: '1.1.0' });
  // It comes with the version 1.0.0.
  const agent = await scene.agent('a');
  assert.deepEqual(await agent.hear('upgrade_required'), {
    type: 'upgrade_required',
    current_version: '1.0.0',
    required_version: '1.1.0',
  });
  await scene.world.advance(2000);
  assert.equal((await scene.engine.workers.list())[0]?.status, 'upgrade required: 1.1.0');
  await agent.hangUp();
  while (scene.gateway.connected > 0) await new Promise((resolve) => void setImmediate(resolve));
  await scene.world.settle();
  assert.equal((await scene.engine.workers.list())[0]?.status, undefined);
});
