import assert from 'node:assert/strict';
import type { Topic } from './topic.ts';

export const WORKERS: Topic = {
  name: 'workers',
  cases: {
    'a registered worker is listed with what it said of itself, and is enabled': async ({ store }) => {
      const tags = ['gpu', 'gpu=nvidia', 'credential:GITHUB'];
      const worker = await store.workerRegister({ name: 'box-1', incarnation: 'i1', slots: 8, tags });
      const [record] = await store.workerList();
      assert.deepEqual(record, {
        worker,
        name: 'box-1',
        incarnation: 'i1',
        slots: 8,
        tags,
        enabled: true,
        seenAt: record?.seenAt,
      });
    },

    'each start of a process is a worker of its own, also under the same name': async ({ store }) => {
      const first = await store.workerRegister({ name: 'box-1', incarnation: 'i1', slots: 1, tags: [] });
      const second = await store.workerRegister({ name: 'box-1', incarnation: 'i2', slots: 1, tags: [] });
      assert.notEqual(second, first);
      assert.equal((await store.workerList()).length, 2);
    },

    'a registration that is repeated leads to the same worker': async ({ store }) => {
      const worker = { name: 'box-1', incarnation: 'i1', slots: 1, tags: [] };
      const first = await store.workerRegister(worker);
      assert.equal(await store.workerRegister(worker), first);
      assert.equal((await store.workerList()).length, 1);
    },

    'a new incarnation does not hold the leases of its predecessor': async (scene) => {
      const grant = await scene.running();
      const next = await scene.newWorker();
      assert.notEqual((await scene.get(grant.task)).holder, next);
    },

    'a beat tells when a worker was last seen, and only for those who beat': async (scene) => {
      const { store } = scene;
      const one = await scene.newWorker();
      const two = await scene.newWorker();
      const seen = async (): Promise<readonly number[]> => (await store.workerList()).map(({ seenAt }) => seenAt);
      const [before] = await seen();
      await scene.pass(4000);
      await store.workerBeat({ workers: [two] });
      await scene.pass(1000);
      assert.deepEqual(await seen(), [before, (before as number) + 4000]);
      await store.workerBeat({ workers: [one, two, 4711] });
      assert.deepEqual(await seen(), [(before as number) + 5000, (before as number) + 5000]);
    },

    'setting the wall clock makes no worker look silent': async (scene) => {
      const worker = await scene.newWorker();
      const [before] = await scene.store.workerList();
      scene.world.jump(3_600_000);
      await scene.store.workerBeat({ workers: [worker] });
      assert.equal((await scene.store.workerList())[0]?.seenAt, before?.seenAt);
    },

    'a worker can be switched off and on': async ({ store }) => {
      const worker = await store.workerRegister({ name: 'box-1', incarnation: 'i1', slots: 1, tags: [] });
      for (const enabled of [false, false, true]) {
        await store.workerEnable({ worker, enabled });
        assert.equal((await store.workerList())[0]?.enabled, enabled);
      }
    },
  },
};
