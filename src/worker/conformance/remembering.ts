import assert from 'node:assert/strict';
import type { Assignment, Session } from '../../protocol/link.ts';
import { HANDLER, type LinkScene, type LinkTopic, QUEUE, refusal } from './scene.ts';
import { park, remember, spawn } from './turning.ts';

const PARKED = { went: 'parked', state: undefined, body: undefined, entries: [] };

/** The session claims the task again. */
async function again(scene: LinkScene, session: Session): Promise<Assignment> {
  await scene.world.advance(1000);
  return scene.claimOne(session);
}

export const REMEMBERING: LinkTopic = {
  name: 'remembering and waiting',
  cases: {
    'what an attempt remembers is there for the next one, as JSON text': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      assert.deepEqual(await session.journal(held), []);
      assert.equal(await remember(session, held, 'a#0', { to: ['ü'], not: undefined }), '{"to":["ü"]}');
      assert.equal(await remember(session, held, 'b#0', null), 'null');
      await session.release(held);
      const next = await scene.claimOne(session);
      const read = (await session.journal(next)).map(({ key, value }) => `${key} ${value}`);
      assert.deepEqual(read.sort(), ['a#0 {"to":["ü"]}', 'b#0 null']);
    },

    'the first value that is remembered under a key stays, and is the answer': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      assert.equal(await remember(session, held, 'k', 1), '1');
      assert.equal(await remember(session, held, 'k', 1), '1');
      assert.equal(await remember(session, held, 'k', 2), '1');
    },

    'a value that no store can keep is refused, and the lease stays usable': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      for (const value of [1n, Number.NaN, new Map()]) {
        assert.equal(await refusal(remember(session, held, 'k', value)), 'INVALID_INPUT');
      }
      assert.equal(await refusal(remember(session, held, 'k', 'x'.repeat(3_000_000))), 'TOO_LARGE');
      assert.equal(await refusal(remember(session, held, '', 1)), 'INVALID_INPUT');
      assert.equal(await remember(session, held, 'k', 1), '1');
    },

    'a task that parks gives lease and try back, and comes again with what it waited for': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session, { maxAttempts: 1 });
      assert.equal(await session.waited(held), undefined);
      assert.deepEqual(await park(session, held, { key: 'w#0', channel: 'c' }), PARKED);
      assert.equal(await scene.brief(held.task), 'waiting none 0/1');
      assert.deepEqual(await session.renew([held]), ['lost']);
      await scene.operator.waits.signal('c', { say: 'hello' });
      const next = await again(scene, session);
      assert.deepEqual([next.task, next.attempt, next.tries], [held.task, 2, 1]);
      const { key, outcome, body } = (await session.waited(next)) ?? {};
      assert.deepEqual([key, outcome, body], ['w#0', 'woken', '{"say":"hello"}']);
    },

    'a park that is repeated because its answer was lost is known': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      for (let n = 0; n < 2; n++) assert.deepEqual(await park(session, held, { key: 'w', channel: 'c' }), PARKED);
    },

    'what is there already is told at once, and the lease is kept': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.operator.waits.signal('c', 7);
      assert.deepEqual(await park(session, held, { key: 'w', channel: 'c' }), { ...PARKED, went: 'woken', body: '7' });
      assert.equal(await scene.brief(held.task), 'running none 1/1');
      assert.equal((await session.waited(held))?.body, '7');
      const { went } = await park(session, held, { key: 'none', children: [] });
      assert.equal(went, 'woken');
      await session.complete(held, 1);
    },

    'a task may wait on several channels of its own and for decisions, and is told which has come': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const others = [
        { key: 'b', channel: `${held.id}:b` },
        { key: 'ask', form: { title: 'Go?' } },
      ];
      const wait = { key: 'first', form: { title: 'Really?' }, others };
      await assert.rejects(park(session, held, { ...wait, others: [{ key: 'x', channel: 'of somebody' }] }), {
        code: 'INVALID_INPUT',
      });
      await scene.operator.waits.signal(`${held.id}:b`, 7);
      const heard = await park(session, held, wait);
      assert.deepEqual(heard, { ...PARKED, went: 'woken', key: 'b', body: '7' });
      const left = { ...wait, key: 'last', others: others.slice(1), nth: 1 };
      assert.deepEqual(await park(session, held, left), PARKED);
      assert.equal(await scene.brief(held.task), 'waiting none 0/1');
    },

    'a wait has a time, as a length or as a calendar time': async (scene) => {
      const session = await scene.open();
      const length = await scene.running(session);
      await park(session, length, { key: 'w', channel: 'c', timeoutMs: 5000 });
      const time = await scene.running(session);
      await park(session, time, { key: 'w', until: scene.world.clock.wall() + 5000 });
      await scene.world.advance(4000);
      await scene.tick('stager');
      assert.deepEqual(await scene.claim(session), []);
      await scene.world.advance(1001);
      await scene.tick('stager');
      const woken = await scene.claim(session);
      assert.deepEqual(new Set(woken.map(({ task }) => task)), new Set([length.task, time.task]));
      for (const one of woken) assert.equal((await session.waited(one))?.outcome, 'timed_out');
    },

    'how much of its time a wait has left is told with it': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await park(session, held, { key: 'w', channel: 'c', timeoutMs: 5000 });
      await scene.world.advance(2000);
      await scene.operator.waits.signal('c', 1);
      assert.equal((await session.waited(await again(scene, session)))?.leftMs, 2000);
    },

    'a task that was asked to stop does not wait: it ends': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.operator.cancel(held.task);
      assert.deepEqual(await park(session, held, { key: 'w', channel: 'c' }), {
        ...PARKED,
        went: 'cancelled',
        state: 'cancelled',
      });
      assert.equal(await scene.brief(held.task), 'cancelled requested 1/1');
    },

    'a wait for nothing, and for children that are none, is refused': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      assert.equal(await refusal(park(session, held, { key: 'w' })), 'INVALID_INPUT');
      assert.equal(await refusal(park(session, held, { key: 'w', children: ['task_nonsense'] })), 'INVALID_ID');
      assert.equal(await scene.brief(held.task), 'running none 1/1');
    },

    'a child is born once for each key, whichever attempt asks': async (scene) => {
      const session = await scene.open();
      const { task } = await scene.push({ maxAttempts: 5 });
      const held = await scene.claimOne(session);
      const first = await spawn(session, held);
      assert.deepEqual(await spawn(session, held), first);
      assert.notEqual((await spawn(session, held, {}, 'other')).task, first.task);
      await session.release(held);
      const next = await scene.claimOne(session);
      assert.deepEqual([next.task, await spawn(session, next)], [task, first]);
      assert.equal(await scene.brief(first.task), 'ready none 0/0');
    },

    'how other tasks stand can be read by number and by public id, in the order of the question': async (scene) => {
      const session = await scene.open();
      const parent = await scene.running(session);
      const open = await spawn(session, parent);
      const [done, bad] = [await scene.running(session), await scene.running(session, { maxAttempts: 1 })];
      await session.complete(done, { n: 1 });
      await session.fail(bad, 'no');
      const results = await session.results(parent, [bad.task, open.id, 4711, done.id, bad.task]);
      assert.deepEqual(
        results.map(({ task, id, state, result }) => [task, id, state, result]),
        [
          [bad.task, bad.id, 'failed', '"no"'],
          [open.task, open.id, 'ready', undefined],
          [4711, undefined, 'gone', undefined],
          [done.task, done.id, 'completed', '{"n":1}'],
          [bad.task, bad.id, 'failed', '"no"'],
        ],
      );
      assert.deepEqual(await session.results(parent, []), []);
    },

    'a task that waits for its children comes again when they have ended': async (scene) => {
      const session = await scene.open();
      const parent = await scene.running(session);
      const children = [await spawn(session, parent), await spawn(session, parent, {}, 'other')];
      const wait = { key: 'w', children: children.map(({ id }) => id) };
      assert.deepEqual(await park(session, parent, wait), PARKED);
      for (const { task } of children) {
        assert.equal(await scene.brief(parent.task), 'waiting none 0/1');
        await scene.operator.cancel(task);
      }
      const next = await again(scene, session);
      assert.equal((await session.waited(next))?.outcome, 'woken');
      assert.deepEqual(await park(session, next, wait), { ...PARKED, went: 'woken' });
    },

    'a task of a graph reads what those before it have come to': async (scene) => {
      const session = await scene.open();
      const base = { queue: QUEUE, handler: HANDLER };
      const [up, down] = await scene.operator.pushGraph([
        { ...base, name: 'up' },
        { ...base, after: ['up'] },
      ]);
      const first = await scene.claimOne(session);
      assert.deepEqual(await session.dependencies(first), []);
      await session.complete(first, { n: 1 });
      const second = await again(scene, session);
      assert.equal(second.task, down?.task);
      assert.deepEqual(await session.dependencies(second), [
        { task: up?.task, id: up?.id, state: 'completed', result: '{"n":1}', optional: false },
      ]);
    },
  },
};
