import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type LinkTopic, refusal } from './scene.ts';
import { spawn } from './turning.ts';

/** What a run needs of the cluster beside its turns. */
export const FAMILIES: LinkTopic = {
  name: 'definitions and children',
  cases: {
    'a definition is read by its hash, and one that is not kept is none': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const body = '{"states": "ü"}';
      const hash = createHash('sha256').update(body).digest('hex');
      assert.equal(await session.definition(held, hash), undefined);
      await scene.operator.runs.define([{ hash, kind: 'machine', body }]);
      assert.equal(await session.definition(held, hash), body);
    },

    'children that are needed no more are cancelled, those of others and other children are not': async (scene) => {
      const session = await scene.open();
      const [held, other] = [await scene.running(session), await scene.running(session)];
      const loser = await spawn(session, held, {}, 'loser');
      const kept = await spawn(session, held, {}, 'kept');
      const stranger = await spawn(session, other, {}, 'child');
      await session.cancelChildren(held, [loser.task, stranger.task]);
      await session.cancelChildren(held, [loser.id]);
      const states = await Promise.all(
        [loser, kept, stranger].map(async ({ task }) => (await scene.operator.get(task))?.state),
      );
      assert.deepEqual(states, ['cancelled', 'ready', 'ready']);
    },

    'a child that runs is asked to stop': async (scene) => {
      const session = await scene.open({ handlers: ['send', 'play'] });
      const held = await scene.running(session);
      const child = await spawn(session, held);
      const running = await scene.claimOne(session);
      assert.equal(running.task, child.task);
      await session.cancelChildren(held, [child.task]);
      assert.deepEqual(await session.renew([running]), ['cancel']);
    },

    'a turn that ends the task leaves no lease, and its entry stays': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const entries = [{ key: 'last', kind: 'value', value: 1 }] as const;
      const { went, state } = await session.turn(held, { entries, then: { go: 'complete', result: { n: 1 } } });
      assert.deepEqual([went, state], ['ended', 'completed']);
      assert.equal((await scene.operator.get(held.task))?.result, '{"n":1}');
      assert.deepEqual(
        (await scene.operator.journal(held.task)).map(({ key }) => key),
        ['last'],
      );
      const late = session.turn(held, { entries: [{ key: 'late', kind: 'value', value: 2 }], then: { go: 'on' } });
      assert.equal(await refusal(late), 'LEASE_LOST');
    },
  },
};
