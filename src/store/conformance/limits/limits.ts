import assert from 'node:assert/strict';
import { type LimitInput, type LimitUseInput, normalizeLimit, normalizeUses } from '../../../core/limits/limit.ts';
import type { ClaimAnswer, CounterRecord, Grant, Lane, NewTask } from '../../store.ts';
import { MINUTE, refusal, type Scene, TTL } from '../kit/scene.ts';
import { needing, type Topic } from '../kit/topic.ts';

const put = (scene: Scene, name: string, limit: LimitInput, by = 'me'): Promise<number> =>
  scene.store.limitPut({ name, limit: normalizeLimit(limit), by });

/** A task that takes from these limits. */
async function limited(
  scene: Scene,
  limits: readonly (string | LimitUseInput)[],
  wish: Partial<NewTask> = {},
): Promise<NewTask> {
  const lane = { queue: 'mail', handler: 'send', limits: normalizeUses(limits) };
  const [{ id }] = (await scene.store.laneIntern({ lanes: [lane] })) as readonly [Lane];
  return scene.draft({ ...wish, lane: id });
}

async function claim(scene: Scene, items: readonly NewTask[], max: number, holder?: number): Promise<ClaimAnswer> {
  const lanes = [...new Set(items.map(({ lane }) => lane))].map((lane) => ({ lane, max }));
  const [answer] = await scene.store.taskClaim({
    claims: [{ holder: holder ?? (await scene.worker()), ttlMs: TTL, max, lanes }],
  });
  assert.ok(answer);
  return answer;
}

const count = async (scene: Scene, items: readonly NewTask[], max: number): Promise<number> =>
  (await claim(scene, items, max)).grants.length;

async function countersOf(scene: Scene, name: string): Promise<ReadonlyMap<string, CounterRecord>> {
  return new Map((await scene.store.limitCounters({ name, limit: 100 })).map((counter) => [counter.key, counter]));
}

const active = async (scene: Scene, name: string, key = ''): Promise<number | undefined> =>
  (await countersOf(scene, name)).get(key)?.active;

async function push(scene: Scene, item: NewTask, n = 1): Promise<readonly number[]> {
  const answers = await scene.store.taskPush({ items: Array.from({ length: n }, () => item) });
  return answers.map((answer) => {
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.task;
  });
}

export const LIMITS: Topic = {
  name: 'limits',
  needs: ['whole'],
  cases: {
    'a limit bounds what runs at once, over all lanes that take from it': async (scene) => {
      await put(scene, 'api', { concurrent: 3 });
      const a = await limited(scene, ['api']);
      const b = await limited(scene, ['api', 'other'], {}).catch(() => undefined);
      assert.equal(b, undefined, 'an unknown limit was taken');
      const c = await limited(scene, [{ name: 'api', key: 'x' }]);
      await push(scene, a, 5);
      await push(scene, c, 5);
      const { grants, blocked } = await claim(scene, [a, c], 10);
      assert.equal(grants.length, 3);
      assert.equal(await active(scene, 'api'), 3);
      const total = (await countersOf(scene, 'api')).get('')?.id;
      assert.deepEqual(
        blocked.map(({ lane, counter }) => [lane, counter]),
        [a.lane, c.lane].map((lane) => [lane, total]),
      );
      assert.equal(await count(scene, [a, c], 10), 0);
      await scene.settle(grants[0] as Grant, 'completed');
      assert.equal(await active(scene, 'api'), 2);
      assert.equal(await count(scene, [a, c], 10), 1);
    },

    'a limit that does not exist is refused, and so is one that was removed': async (scene) => {
      assert.equal(await refusal(limited(scene, ['nobody'])), 'NOT_FOUND');
      await put(scene, 'api', { concurrent: 1 });
      assert.equal(await scene.store.limitRemove({ name: 'api', by: 'me' }), true);
      assert.equal(await scene.store.limitRemove({ name: 'api', by: 'me' }), false);
      assert.equal(await refusal(limited(scene, ['api'])), 'NOT_FOUND');
      assert.deepEqual(await scene.store.limitList(), []);
    },

    'a lane that has no more tasks is empty, not held back': async (scene) => {
      await put(scene, 'api', { concurrent: 2 });
      const item = await limited(scene, ['api']);
      await push(scene, item, 1);
      const { grants, blocked } = await claim(scene, [item], 5);
      assert.equal(grants.length, 1);
      assert.deepEqual(blocked, []);
    },

    'a limit per key bounds each key, and the total bounds them together': async (scene) => {
      await put(scene, 'api', { concurrent: 5, perKey: 2 });
      const items = await Promise.all(['a', 'b', 'c'].map((key) => limited(scene, [{ name: 'api', key }])));
      for (const item of items) await push(scene, item, 4);
      const { grants } = await claim(scene, items, 20);
      const of = (item: NewTask): number => grants.filter(({ lane }) => lane === item.lane).length;
      assert.deepEqual(items.map(of), [2, 2, 1]);
      assert.deepEqual([await active(scene, 'api'), await active(scene, 'api', 'a')], [5, 2]);
    },

    'a heavy task takes more of a limit than a light one': async (scene) => {
      await put(scene, 'memory', { concurrent: 10 });
      const heavy = await limited(scene, [{ name: 'memory', weight: 4 }]);
      const light = await limited(scene, ['memory']);
      await push(scene, heavy, 3);
      await push(scene, light, 9);
      const first = await claim(scene, [heavy], 9);
      assert.equal(first.grants.length, 2);
      assert.equal(await count(scene, [light], 9), 2);
      assert.equal(await active(scene, 'memory'), 10);
      await scene.settle(first.grants[0] as Grant, 'failed', { reason: 'gave_up' });
      assert.equal(await active(scene, 'memory'), 6);
    },

    'what a task takes of a limit is given back however its attempt ends, and once only': async (scene) => {
      await put(scene, 'api', { concurrent: 9 });
      const item = await limited(scene, ['api'], { maxTries: 9 });
      const next = async (): Promise<Grant> => (await claim(scene, [item], 1)).grants[0] as Grant;
      await push(scene, item, 6);
      const [completed, retried, released, later, cancelled] = [
        await next(),
        await next(),
        await next(),
        await next(),
        await next(),
      ];
      assert.equal(await active(scene, 'api'), 5);
      await scene.settle(completed, 'completed');
      await scene.settle(completed, 'completed');
      await scene.giveBack(retried);
      await scene.giveBack(retried);
      await scene.giveBack(released, { change: 'released', refund: true });
      await scene.giveBack(later, { delayMs: MINUTE });
      await scene.store.taskCancel({ tasks: [cancelled.task] });
      assert.equal(await active(scene, 'api'), 1, 'a task that was asked to stop still runs');
      await scene.giveBack(cancelled);
      assert.equal(await active(scene, 'api'), 0);
      await scene.settle({ ...cancelled, attempt: 7 }, 'completed');
      assert.equal(await active(scene, 'api'), 0);
    },

    'what a task takes of a limit is given back by the reaper, and the overtaken attempt gives back nothing more':
      async (scene) => {
        await put(scene, 'api', { concurrent: 2 });
        const item = await limited(scene, ['api'], { maxTries: 5 });
        await push(scene, item, 2);
        const [a, b] = (await claim(scene, [item], 2)).grants as [Grant, Grant];
        const duty = await scene.duty();
        await scene.pass(TTL + 1);
        assert.equal(await scene.reap(duty), 2);
        assert.equal(await active(scene, 'api'), 0);
        assert.equal(await scene.settle(a, 'completed'), 'lost');
        assert.equal(await scene.giveBack(b), 'lost');
        assert.equal(await active(scene, 'api'), 0);
        assert.equal(await count(scene, [item], 5), 2);
      },

    'what is ended by the reaper gives back too': async (scene) => {
      await put(scene, 'api', { concurrent: 2 });
      const item = await limited(scene, ['api']);
      await push(scene, item, 1);
      await claim(scene, [item], 1);
      const duty = await scene.duty();
      await scene.pass(TTL + 1);
      assert.equal(await scene.reap(duty, 'failed'), 1);
      assert.equal(await active(scene, 'api'), 0);
    },

    'lowering a limit ends nothing; it drains': async (scene) => {
      await put(scene, 'api', { concurrent: 4 });
      const item = await limited(scene, ['api']);
      await push(scene, item, 9);
      const { grants } = await claim(scene, [item], 4);
      await put(scene, 'api', { concurrent: 2 });
      assert.equal(await active(scene, 'api'), 4);
      for (const [n, grant] of grants.entries()) {
        assert.equal(await count(scene, [item], 5), 0, `${n} had ended`);
        if (n === 3) break;
        await scene.settle(grant, 'completed');
        if (n < 2) continue;
        assert.equal(await active(scene, 'api'), 1);
        assert.equal(await count(scene, [item], 5), 1);
        break;
      }
    },

    'raising a limit holds at once, and taking it away leaves no bound': async (scene) => {
      await put(scene, 'api', { concurrent: 1 });
      const item = await limited(scene, ['api']);
      await push(scene, item, 9);
      assert.equal(await count(scene, [item], 9), 1);
      await put(scene, 'api', { concurrent: 3 });
      assert.equal(await count(scene, [item], 9), 2);
      await scene.store.limitRemove({ name: 'api', by: 'me' });
      assert.equal(await count(scene, [item], 9), 6);
      assert.equal(await active(scene, 'api'), 9);
      // The same name again counts what still runs.
      await put(scene, 'api', { concurrent: 10 });
      await push(scene, item, 3);
      assert.equal(await count(scene, [item], 9), 1);
    },

    'a cap per key holds for keys that come after it was changed': async (scene) => {
      await put(scene, 'api', { perKey: 1 });
      await limited(scene, [{ name: 'api', key: 'old' }]);
      await put(scene, 'api', { perKey: 2 });
      for (const key of ['old', 'new']) {
        const item = await limited(scene, [{ name: 'api', key }]);
        await push(scene, item, 5);
        assert.equal(await count(scene, [item], 9), 2, key);
      }
    },

    'a limit of nothing holds everything back': async (scene) => {
      await put(scene, 'api', { concurrent: 0 });
      const item = await limited(scene, ['api']);
      await push(scene, item, 2);
      const { grants, blocked } = await claim(scene, [item], 2);
      assert.deepEqual([grants.length, blocked.length], [0, 1]);
    },

    'a rate bounds how many start in any window, and time alone makes room': async (scene) => {
      await put(scene, 'api', { rate: { max: 10, window: '10s', burst: 2 } });
      const item = await limited(scene, ['api']);
      await push(scene, item, 40);
      const starts: number[] = [];
      for (let at = 0; at < 30_000; at += 250) {
        const { grants, blocked } = await claim(scene, [item], 40);
        for (const grant of grants) {
          starts.push(at);
          await scene.settle(grant, 'completed');
        }
        if (at === 0) assert.deepEqual([grants.length, blocked[0]?.freesInMs], [2, 1112]);
        await scene.pass(250);
      }
      for (const from of starts) {
        const inWindow = starts.filter((at) => at >= from && at < from + 10_000).length;
        assert.ok(inWindow <= 10, `${inWindow} started within 10 s from ${from}`);
      }
      assert.ok(starts.length >= 26, `only ${starts.length} started in 30 s`);
    },

    'a cost bounds how much is started in any window; what is larger than a burst starts alone': async (scene) => {
      await put(scene, 'tokens', { cost: { max: 1000, window: '1m', burst: 100 } });
      const small = await limited(scene, [{ name: 'tokens', cost: 50 }]);
      const large = await limited(scene, [{ name: 'tokens', cost: 500 }]);
      await push(scene, small, 9);
      await push(scene, large, 2);
      assert.equal(await count(scene, [small], 9), 2);
      assert.equal(await count(scene, [large], 9), 0);
      await scene.pass(MINUTE);
      assert.equal(await count(scene, [large], 9), 1);
      assert.equal(await count(scene, [small, large], 9), 0);
      await scene.pass(MINUTE);
      assert.equal(await count(scene, [small], 9), 2);
    },

    'a rate for each key leaves other keys alone': async (scene) => {
      await put(scene, 'api', { rate: { max: 1, window: '1m', perKey: true } });
      const [a, b] = [
        await limited(scene, [{ name: 'api', key: 'a' }]),
        await limited(scene, [{ name: 'api', key: 'b' }]),
      ];
      for (const item of [a, b]) await push(scene, item, 3);
      assert.equal(await count(scene, [a, b], 9), 2);
      assert.equal(await count(scene, [a, b], 9), 0);
    },

    'a handler that must come back later stops its key, and no other': async (scene) => {
      await put(scene, 'api', { rate: { max: 1000, window: '1s', burst: 500 } });
      await put(scene, 'disk', { concurrent: 9 });
      const [a, b] = [
        await limited(scene, [{ name: 'api', key: 'a' }, 'disk']),
        await limited(scene, [{ name: 'api', key: 'b' }, 'disk']),
      ];
      for (const item of [a, b]) await push(scene, item, 3);
      const [grant] = (await claim(scene, [a], 1)).grants as [Grant];
      const later = { change: 'retried', refund: true, delayMs: 20_000, pause: { forMs: 20_000, by: 'w' } } as const;
      assert.equal(await scene.giveBack(grant, later), 'done');
      assert.equal((await scene.get(grant.task)).tries, 0, 'the try was not given back');
      const { grants, blocked } = await claim(scene, [a, b], 9);
      assert.ok(grants.every(({ lane }) => lane === b.lane));
      assert.equal(grants.length, 3);
      assert.deepEqual(
        blocked.map(({ lane, freesInMs }) => [lane, freesInMs]),
        [[a.lane, 20_000]],
      );
      await scene.pass(20_000);
      assert.equal(await count(scene, [a], 9), 2);
    },

    'a limit that is named stops, whatever kind it is; and a key can be stopped from outside': async (scene) => {
      await put(scene, 'disk', { concurrent: 9 });
      const item = await limited(scene, ['disk']);
      await push(scene, item, 4);
      const [grant] = (await claim(scene, [item], 1)).grants as [Grant];
      await scene.giveBack(grant, {
        change: 'retried',
        refund: true,
        delayMs: 5000,
        pause: { limit: 'disk', forMs: 5000, by: 'w' },
      });
      assert.equal(await count(scene, [item], 9), 0);
      await scene.pass(5000);
      assert.equal(await count(scene, [item], 1), 1);
      assert.equal(await scene.store.counterPause({ name: 'disk', key: '', forMs: 1000 }), true);
      assert.equal(await scene.store.counterPause({ name: 'disk', key: 'nobody', forMs: 1000 }), false);
      assert.equal(await count(scene, [item], 9), 0);
      await scene.store.counterPause({ name: 'disk', key: '', forMs: 0 });
      assert.equal(await count(scene, [item], 9), 2);
    },

    'a pause that a task asked for is in the history of its limit, once for all that were refused together': async (
      scene,
    ) => {
      await put(scene, 'api', { rate: { max: 1000, window: '1s', burst: 500 } });
      const item = await limited(scene, [{ name: 'api', key: 'a' }]);
      await push(scene, item, 3);
      const { grants } = await claim(scene, [item], 3);
      for (const grant of grants) {
        const pause = { forMs: 20_000, by: 'worker box' };
        // The task itself comes back much later.
        await scene.giveBack(grant, { change: 'retried', refund: true, delayMs: 9_000_000, pause });
      }
      const history = await scene.store.limitHistory({ name: 'api', limit: 10 });
      assert.deepEqual(
        history.map(({ by, limit, paused }) => [by, limit === undefined, paused]),
        [
          ['worker box', true, { key: 'a', forMs: 20_000 }],
          [history.at(-1)?.by, false, undefined],
        ],
      );
      await push(scene, item, 1);
      await scene.pass(20_000);
      assert.equal(await count(scene, [item], 9), 1);
    },

    'what is sent again after a flush that failed is there once, also where a limit was asked for it': async (
      scene,
    ) => {
      await put(scene, 'api', { concurrent: 1, backlog: 9 });
      const good = await limited(scene, ['api']);
      const bad = await scene.draft({ lane: 999_999 });
      await assert.rejects(scene.store.taskPush({ items: [good, bad] }));
      const [answer] = await scene.store.taskPush({ items: [good] });
      assert.ok(answer?.ok && answer.fresh);
      const tasks = await scene.store.taskList({ limit: 10 });
      assert.deepEqual(
        tasks.map(({ task }) => task),
        [answer.task],
      );
    },
    'a backlog that is full takes no more, and takes again when one has started': async (scene) => {
      await put(scene, 'api', { concurrent: 1, backlog: 2 });
      const item = await limited(scene, ['api']);
      await push(scene, item, 2);
      const refused = await scene.unchanged(() => scene.store.taskPush({ items: [item] }));
      assert.deepEqual(refused, [{ ok: false, limit: 'api', key: '' }]);
      await claim(scene, [item], 1);
      await push(scene, item, 1);
    },

    'a limit that refuses new tasks does so while its room is taken or spoken for': async (scene) => {
      await put(scene, 'api', { perKey: 2, strategy: 'refuse' });
      const item = await limited(scene, [{ name: 'api', key: 'a' }]);
      await push(scene, item, 2);
      assert.deepEqual(await scene.store.taskPush({ items: [item] }), [{ ok: false, limit: 'api', key: 'a' }]);
      const [grant] = (await claim(scene, [item], 2)).grants as [Grant];
      assert.deepEqual(await scene.store.taskPush({ items: [item] }), [{ ok: false, limit: 'api', key: 'a' }]);
      await scene.settle(grant, 'completed');
      await push(scene, item, 1);
      const other = await limited(scene, [{ name: 'api', key: 'b' }]);
      await push(scene, other, 2);
    },

    'a limit that cancels the oldest asks what runs to stop, or ends what waits': async (scene) => {
      await put(scene, 'api', { perKey: 1, strategy: 'cancel_oldest' });
      const item = await limited(scene, [{ name: 'api', key: 'a' }]);
      const [first] = await push(scene, item);
      const [second] = await push(scene, item);
      assert.deepEqual(
        [(await scene.get(first as number)).state, (await scene.get(first as number)).reason],
        ['cancelled', 'replaced'],
      );
      await claim(scene, [item], 1);
      await push(scene, item);
      assert.ok((await scene.get(second as number)).cancelRequestedAt !== undefined);
    },

    'a limit that replaces what waits keeps only the newest': async (scene) => {
      await put(scene, 'api', { perKey: 1, strategy: 'replace_pending' });
      const item = await limited(scene, [{ name: 'api', key: 'a' }]);
      const [running] = await push(scene, item);
      await claim(scene, [item], 1);
      const [a] = await push(scene, item);
      const [b] = await push(scene, item);
      const stateOf = async (task: number | undefined): Promise<string> => (await scene.get(task as number)).state;
      assert.deepEqual([await stateOf(running), await stateOf(a), await stateOf(b)], ['running', 'cancelled', 'ready']);
    },

    'of tasks that are pushed together each takes the place of the one before, and the feed tells it in order': async (
      scene,
    ) => {
      await put(scene, 'api', { perKey: 1, strategy: 'replace_pending' });
      const item = await limited(scene, [{ name: 'api', key: 'a' }]);
      const before = await push(scene, item);
      const tasks = [...before, ...(await push(scene, item, 3))];
      const states = await Promise.all(tasks.map(async (task) => (await scene.get(task)).state));
      assert.deepEqual(states, ['cancelled', 'cancelled', 'cancelled', 'ready']);
    },

    'a task with a unique key finds itself before its limits are asked': async (scene) => {
      await put(scene, 'api', { perKey: 1, strategy: 'refuse' });
      const unique = { key: 'k', hash: 1, windowMs: 60_000 };
      const item = await limited(scene, [{ name: 'api', key: 'a' }], { unique, op: 'o' });
      const [task] = await push(scene, item);
      const [again] = await scene.store.taskPush({ items: [item] });
      assert.ok(again?.ok && !again.fresh && again.task === task);
      const { op: _, ...keyed } = item;
      const [other] = await scene.store.taskPush({ items: [keyed] });
      assert.ok(other?.ok && !other.fresh && other.task === task);
    },

    'one that was asked for by its number takes from its limit, or is not given': async (scene) => {
      await put(scene, 'api', { concurrent: 1 });
      const item = await limited(scene, ['api']);
      const [a, b] = await push(scene, item, 2);
      const grant = await scene.claimOne({ task: a as number });
      assert.equal(await active(scene, 'api'), 1);
      assert.deepEqual(await scene.claim({ task: b as number }), []);
      await scene.settle(grant, 'completed');
      assert.equal((await scene.claim({ task: b as number })).length, 1);
    },

    'limits are listed with what they hold, and their history says who changed what': async (scene) => {
      assert.equal(await put(scene, 'api', { concurrent: 2 }, 'ann'), 1);
      await scene.pass(1000);
      assert.equal(await put(scene, 'api', { concurrent: 3, backlog: 9 }, 'bob'), 2);
      const item = await limited(scene, ['api']);
      await push(scene, item, 5);
      await claim(scene, [item], 9);
      const [record] = await scene.store.limitList();
      const { calendar } = await scene.store.clock();
      assert.deepEqual(record, {
        name: 'api',
        limit: normalizeLimit({ concurrent: 3, backlog: 9 }),
        revision: 2,
        changedAt: calendar,
        changedBy: 'bob',
        active: 3,
        waiting: 2,
      });
      await scene.store.limitRemove({ name: 'api', by: 'cid' });
      const history = await scene.store.limitHistory({ name: 'api', limit: 9 });
      assert.deepEqual(
        history.map(({ at, by, limit }) => [at - calendar, by, limit?.concurrent]),
        [
          [0, 'cid', undefined],
          [0, 'bob', 3],
          [-1000, 'ann', 2],
        ],
      );
    },

    'who holds a limit is told, oldest first': async (scene) => {
      await put(scene, 'api', { concurrent: 9 });
      const item = await limited(scene, [{ name: 'api', weight: 2 }]);
      const [a, b] = await push(scene, item, 3);
      const holder = await scene.worker();
      await claim(scene, [item], 2);
      const counter = (await countersOf(scene, 'api')).get('')?.id as number;
      const held = await scene.store.counterHolders({ counter, limit: 9 });
      assert.deepEqual(
        held.map((one) => [one.task, one.weight, one.holder]),
        [
          [a, 2, holder],
          [b, 2, holder],
        ],
      );
      assert.equal((await scene.store.counterHolders({ counter, limit: 1 })).length, 1);
      const [lane, nobody] = await scene.store.laneGet({ lanes: [item.lane, 4711] });
      assert.deepEqual(lane?.rules?.limits, normalizeUses([{ name: 'api', weight: 2 }]));
      assert.equal(nobody, undefined);
    },

    'the audit finds nothing where nothing is wrong, and is refused to who no longer holds the duty': async (scene) => {
      await put(scene, 'api', { concurrent: 3 });
      const item = await limited(scene, [{ name: 'api', key: 'a', weight: 2 }]);
      await push(scene, item, 3);
      await claim(scene, [item], 9);
      const duty = await scene.duty('auditor');
      assert.deepEqual(await scene.store.counterAudit({ duty }), []);
      const late = scene.store.counterAudit({ duty: { ...duty, epoch: duty.epoch - 1 } });
      assert.equal(await refusal(late), 'DUTY_LOST');
    },

    'claims of several processes never take more than there is': needing(['reopen'], async (scene) => {
      await put(scene, 'api', { concurrent: 7, perKey: 3 });
      const items = await Promise.all(['a', 'b', 'c'].map((key) => limited(scene, [{ name: 'api', key }])));
      for (const item of items) await push(scene, item, 30);
      const other = await scene.reopen();
      const holder = await scene.worker();
      const lanes = items.map(({ lane }) => ({ lane, max: 2 }));
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 === 0 ? scene.store : other).taskClaim({ claims: [{ holder, ttlMs: TTL, max: 4, lanes }] }),
        ),
      );
      const grants = answers.flatMap(([answer]) => answer?.grants ?? []);
      assert.equal(grants.length, 7);
      assert.equal(new Set(grants.map(({ task }) => task)).size, 7);
      for (const { lane } of items) assert.ok(grants.filter((grant) => grant.lane === lane).length <= 3);
    }),

    'two that push at once into the last place of a backlog: one is refused': needing(['reopen'], async (scene) => {
      await put(scene, 'api', { backlog: 1 });
      const item = await limited(scene, ['api']);
      const other = await scene.reopen();
      const answers = await Promise.all([scene.store, other].map((store) => store.taskPush({ items: [item] })));
      assert.equal(answers.filter(([answer]) => answer?.ok).length, 1);
    }),
  },
};
