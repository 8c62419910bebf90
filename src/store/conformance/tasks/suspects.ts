import assert from 'node:assert/strict';
import type { DutyTenure, Grant } from '../../store.ts';
import { DAY, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

/** A task whose first lease ran out, claimed again. */
async function suspect(scene: Scene, duty: DutyTenure): Promise<Grant> {
  await scene.running({ maxTries: 9 });
  await scene.pass(TTL + 1);
  assert.equal(await scene.reap(duty), 1);
  return scene.claimOne();
}

export const SUSPECTS: Topic = {
  name: 'suspects',
  cases: {
    'a task whose lease ran out is handed out as a suspect': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const first = await scene.running({ maxTries: 9 });
      assert.equal(first.suspect, false);
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      assert.equal((await scene.claimOne()).suspect, true);
    },

    'so is one that was made to wait after its lease ran out, and one that is claimed with many others': async (
      scene,
    ) => {
      const duty = await scene.duty('reaper', DAY);
      await scene.running({ maxTries: 9 });
      await scene.pass(TTL + 1);
      await scene.reap(duty, 'again', 500);
      await scene.pass(500);
      await scene.store.taskStage({ duty, limit: 10 });
      await scene.pushMany(20);
      assert.deepEqual(
        (await scene.claim({ max: 30 })).map((grant) => grant.suspect),
        [true, ...Array.from({ length: 20 }, () => false)],
      );
    },

    'a claim that is repeated with its operation id says the same of its suspects': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      await scene.running({ maxTries: 9 });
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      const first = await scene.claimOne({ op: 'op-1' });
      assert.equal(first.suspect, true);
      assert.deepEqual(await scene.claimOne({ op: 'op-1' }), first);
    },

    'a handler that came to its end clears its task of suspicion': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const grant = await suspect(scene, duty);
      assert.equal(await scene.giveBack(grant, { change: 'retried' }), 'done');
      assert.equal((await scene.claimOne()).suspect, false);
    },

    'to be given back clears nothing: nobody has seen the task run to its end': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      for (const bounced of [false, true]) {
        const grant = await suspect(scene, duty);
        assert.equal(await scene.giveBack(grant, { change: 'released', refund: true, bounced }), 'done');
        const again = await scene.claimOne();
        assert.equal(again.suspect, true);
        await scene.settle(again, 'completed');
      }
    },

    'a second lost lease keeps the suspicion': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      await suspect(scene, duty);
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(duty), 1);
      assert.equal((await scene.claimOne()).suspect, true);
    },

    'a task that ended and is run again is no suspect, however it ended': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      for (const to of ['completed', 'failed', 'cancelled'] as const) {
        const grant = await suspect(scene, duty);
        assert.equal(await scene.settle(grant, to), 'done');
        await scene.store.taskRevive({ tasks: [grant.task] });
        const again = await scene.claimOne();
        assert.deepEqual([again.task, again.suspect], [grant.task, false]);
        await scene.settle(again, 'completed');
      }
      const lost = await suspect(scene, duty);
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(duty, 'failed'), 1);
      await scene.store.taskRevive({ tasks: [lost.task] });
      assert.equal((await scene.claimOne()).suspect, false);
    },

    'suspicion changes nothing else about a task: a long payload and a long result stay whole': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const long = JSON.stringify('p'.repeat(3000));
      await scene.running({ maxTries: 9, payload: long });
      await scene.pass(TTL + 1);
      await scene.reap(duty);
      const grant = await scene.claimOne();
      assert.ok(grant.suspect && grant.payload === long);
      await scene.settle(grant, 'completed', { result: long });
      const record = await scene.get(grant.task);
      assert.ok(record.payload === long && record.result === long);
    },
  },
};
