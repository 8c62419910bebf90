import assert from 'node:assert/strict';
import { DAY, HOUR, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const AUDIT: Topic = {
  name: 'audit',
  cases: {
    'a recount of an empty store finds nothing wrong': async (scene) => {
      const duty = await scene.duty('auditor');
      assert.deepEqual(await scene.store.statsAudit({ duty }), []);
      await scene.lane('mail');
      assert.deepEqual(await scene.store.statsAudit({ duty }), []);
    },

    'a recount after all sorts of changes finds nothing wrong and changes nothing': async (scene) => {
      const duty = await scene.duty('auditor', DAY);
      await scene.pushMany(5, { queue: 'a' });
      await scene.pushMany(3, { queue: 'b', delayMs: HOUR });
      const lane = await scene.lane('a');
      const [one, two, three, four] = await scene.claim({ max: 4, lanes: [lane] });
      assert.ok(one && two && three && four);
      await scene.settle(one, 'completed');
      await scene.settle(two, 'failed');
      await scene.giveBack(three, { delayMs: 5 });
      await scene.store.taskCancel({ tasks: [four.task] });
      await scene.pass(TTL + 1);
      await scene.reap(duty, 'cancelled');
      await scene.store.taskRevive({ tasks: [one.task] });
      assert.deepEqual(await scene.unchanged(() => scene.store.statsAudit({ duty })), []);
    },

    'a recount while others write finds nothing wrong': async (scene) => {
      const duty = await scene.duty('auditor', DAY);
      const item = await scene.draft();
      const audits: Promise<readonly unknown[]>[] = [];
      for (let n = 0; n < 10; n++) {
        const writes = [scene.store.taskPush({ items: [item, item, item] }), scene.claim({ max: 2 })];
        audits.push(scene.store.statsAudit({ duty }));
        await Promise.all(writes);
      }
      assert.deepEqual((await Promise.all(audits)).flat(), []);
    },
  },
};
