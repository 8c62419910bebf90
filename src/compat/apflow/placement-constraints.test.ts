import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from '../../index.ts';
import { placementFromConstraints, tagsFromCapabilities } from '../index.ts';

test('a push with the constraints of apflow goes to the nodes that it names, so many at once on each', async () => {
  const app = await open('memory:', { duties: false, housekeeping: false });
  const { engine } = app;
  const register = (name: string, capabilities: Parameters<typeof tagsFromCapabilities>[0]) =>
    engine.workers.register({ name, incarnation: name, slots: 9, tags: tagsFromCapabilities(capabilities) });
  const [gpu, other] = [await register('node-1', { gpu: 'nvidia' }), await register('node-2', { gpu: 'amd' })];
  const placement = placementFromConstraints({ requires_capabilities: { gpu: 'nvidia' }, max_parallel_per_node: 2 });
  for (let n = 0; n < 3; n++) await engine.push({ queue: 'q', handler: 'h', placement });
  assert.deepEqual(await engine.claim({ worker: other, max: 9 }), []);
  assert.equal((await engine.claim({ worker: gpu, max: 9 })).length, 2);
  await app.close();
});
