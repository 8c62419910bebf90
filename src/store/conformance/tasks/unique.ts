import assert from 'node:assert/strict';
import type { PushAnswer } from '../../store.ts';
import { HOUR, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const KEY = { key: 'order-1', hash: 11, windowMs: HOUR };
const OTHER_INPUT = { ...KEY, hash: 22 };

function assertSame(answer: PushAnswer, task: number, state: string): void {
  assert.ok(answer.ok, 'it was refused');
  assert.deepEqual({ task: answer.task, state: answer.state, fresh: answer.fresh }, { task, state, fresh: false });
}

async function finish(scene: Scene): Promise<void> {
  assert.equal(await scene.settle(await scene.claimOne(), 'completed'), 'done');
}

export const UNIQUE: Topic = {
  name: 'unique keys',
  cases: {
    'the same key and input lead to the same task, and nothing is added': async (scene) => {
      const task = await scene.push({ unique: KEY });
      assertSame(await scene.unchanged(() => scene.pushAnswer({ unique: KEY })), task, 'ready');
      assert.equal((await scene.get(task)).unique, 'order-1');
    },

    'the answer tells when the task was made, and in which state it is now': async (scene) => {
      const first = await scene.pushAnswer({ unique: KEY });
      await scene.pass(5000);
      await scene.claimOne();
      const again = await scene.pushAnswer({ unique: KEY });
      assert.ok(first.ok && again.ok);
      assert.equal(again.createdAt, first.createdAt);
      assert.equal(again.state, 'running');
    },

    'the same key with another input is refused with the task that holds it, and nothing changes': async (scene) => {
      const task = await scene.push({ unique: KEY });
      const answer = await scene.unchanged(() => scene.pushAnswer({ unique: OTHER_INPUT }));
      assert.deepEqual(answer, { ok: false, conflict: task });
    },

    'a refused key fails none of its neighbours in the call': async (scene) => {
      const held = await scene.push({ unique: KEY });
      const plain = await scene.draft();
      const answers = await scene.store.taskPush({
        items: [plain, { ...plain, unique: OTHER_INPUT }, { ...plain, unique: { ...KEY, key: 'order-2' } }],
      });
      assert.deepEqual(
        answers.map((answer) => answer.ok),
        [true, false, true],
      );
      assert.deepEqual(answers[1], { ok: false, conflict: held });
      assert.equal((await scene.stats()).ready, 3);
    },

    'a key that comes twice in one call makes one task': async (scene) => {
      const item = await scene.draft({ unique: KEY });
      const [first, twin, other] = await scene.store.taskPush({
        items: [item, item, { ...item, unique: OTHER_INPUT }],
      });
      assert.ok(first?.ok && twin?.ok);
      assert.deepEqual([first.fresh, twin.fresh, twin.task], [true, false, first.task]);
      assert.deepEqual(other, { ok: false, conflict: first.task });
    },

    'a key that is pushed many times at once makes one task, and every caller learns of it': async (scene) => {
      const item = await scene.draft({ unique: KEY });
      const answers = await Promise.all(Array.from({ length: 30 }, () => scene.store.taskPush({ items: [item] })));
      const found = answers.map(([answer]) => (answer?.ok ? answer : assert.fail('refused')));
      assert.equal(new Set(found.map(({ task }) => task)).size, 1);
      assert.equal(found.filter(({ fresh }) => fresh).length, 1);
    },

    'a key belongs to its queue: in another queue it is another task': async (scene) => {
      const task = await scene.push({ queue: 'mail', unique: KEY });
      const other = await scene.push({ queue: 'post', unique: OTHER_INPUT });
      assert.notEqual(other, task);
    },

    'a key is one for all handlers of its queue': async (scene) => {
      const task = await scene.push({ handler: 'send', unique: KEY });
      assertSame(await scene.pushAnswer({ handler: 'sort', unique: KEY }), task, 'ready');
      assert.deepEqual(await scene.pushAnswer({ handler: 'sort', unique: OTHER_INPUT }), { ok: false, conflict: task });
    },

    'a finished task keeps its key until the window is over': async (scene) => {
      const task = await scene.push({ unique: KEY });
      await finish(scene);
      await scene.pass(HOUR - 1);
      assertSame(await scene.unchanged(() => scene.pushAnswer({ unique: KEY })), task, 'completed');
      assert.deepEqual(await scene.pushAnswer({ unique: OTHER_INPUT }), { ok: false, conflict: task });
    },

    'when the window is over and the task is finished, the key is free for any input': async (scene) => {
      const task = await scene.push({ unique: KEY });
      await finish(scene);
      await scene.pass(HOUR + 1);
      const next = await scene.push({ unique: OTHER_INPUT });
      assert.notEqual(next, task);
      assertSame(await scene.pushAnswer({ unique: OTHER_INPUT }), next, 'ready');
      assert.deepEqual(await scene.pushAnswer({ unique: KEY }), { ok: false, conflict: next });
    },

    'the window counts from the push, not from the end of the task': async (scene) => {
      await scene.push({ unique: KEY });
      await scene.pass(HOUR - 10);
      await finish(scene);
      await scene.pass(11);
      await scene.push({ unique: OTHER_INPUT });
    },

    'an unfinished task holds its key beyond the window, whatever it does': async (scene) => {
      const task = await scene.push({ unique: KEY });
      await scene.pass(3 * HOUR);
      assertSame(await scene.pushAnswer({ unique: KEY }), task, 'ready');
      const grant = await scene.claimOne();
      assertSame(await scene.pushAnswer({ unique: KEY }), task, 'running');
      assert.equal(await scene.giveBack(grant, { delayMs: HOUR }), 'done');
      assertSame(await scene.pushAnswer({ unique: KEY }), task, 'scheduled');
      assert.deepEqual(await scene.pushAnswer({ unique: OTHER_INPUT }), { ok: false, conflict: task });
    },

    'a finished task that is run again beyond its window holds its key again': async (scene) => {
      const task = await scene.push({ unique: KEY });
      await finish(scene);
      await scene.pass(2 * HOUR);
      await scene.store.taskRevive({ tasks: [task] });
      assertSame(await scene.pushAnswer({ unique: KEY }), task, 'ready');
    },

    'failed and cancelled tasks keep their key for the window too': async (scene) => {
      const failed = await scene.push({ unique: KEY });
      assert.equal(await scene.settle(await scene.claimOne(), 'failed', { reason: 'exhausted' }), 'done');
      assertSame(await scene.pushAnswer({ unique: KEY }), failed, 'failed');
      const second = { ...KEY, key: 'order-2' };
      const cancelled = await scene.push({ unique: second });
      await scene.store.taskCancel({ tasks: [cancelled] });
      assertSame(await scene.pushAnswer({ unique: second }), cancelled, 'cancelled');
    },

    'a window of nothing still joins pushes to the unfinished task': async (scene) => {
      const unique = { ...KEY, windowMs: 0 };
      const task = await scene.push({ unique });
      await scene.pass(TTL);
      assertSame(await scene.pushAnswer({ unique }), task, 'ready');
      await finish(scene);
      await scene.pass(1);
      assert.notEqual(await scene.push({ unique }), task);
    },

    'keys are kept letter for letter: capitals, spaces and signs make other keys': async (scene) => {
      const keys = ['Key', 'key', 'key ', 'kéy', "k'ey", '🔑', 'k'.repeat(255)];
      const tasks = new Set<number>();
      for (const key of keys) tasks.add(await scene.push({ unique: { ...KEY, key } }));
      assert.equal(tasks.size, keys.length);
      for (const [i, task] of [...tasks].entries()) assert.equal((await scene.get(task)).unique, keys[i]);
    },

    'a hash of 52 bits is compared to the last bit': async (scene) => {
      const hash = 2 ** 52 - 1;
      const task = await scene.push({ unique: { ...KEY, hash } });
      assertSame(await scene.pushAnswer({ unique: { ...KEY, hash } }), task, 'ready');
      assert.deepEqual(await scene.pushAnswer({ unique: { ...KEY, hash: hash - 1 } }), { ok: false, conflict: task });
    },

    'the task that has a key is found by it, in its queue, finished or not': async (scene) => {
      const find = (queue: string, key: string): Promise<number | undefined> => scene.store.taskByKey({ queue, key });
      assert.equal(await find('mail', 'k'), undefined);
      const task = await scene.push({ unique: { key: 'k', hash: 1, windowMs: HOUR } });
      assert.equal(await find('mail', 'k'), task);
      assert.equal(await find('post', 'k'), undefined);
      await scene.store.taskCancel({ tasks: [task] });
      assert.equal(await find('mail', 'k'), task);
    },
  },
};
