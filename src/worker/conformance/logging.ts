import assert from 'node:assert/strict';
import type { LogEntry } from '../../core/task/log.ts';
import { type LinkScene, type LinkTopic, refusal } from './scene.ts';

const entry = (seq: number, text = `line ${seq}`): LogEntry => ({ seq, at: 1000 + seq, stream: 'log', text });

async function lines(scene: LinkScene, task: number): Promise<readonly string[]> {
  return (await scene.operator.logs.read(task)).map(({ attempt, seq, text }) => `${attempt}.${seq} ${text}`);
}

export const LOGGING: LinkTopic = {
  name: 'logging',
  cases: {
    'lines are kept as they were said': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const said: readonly LogEntry[] = [
        { seq: 1, at: 1001, stream: 'stdout', text: 'ü\n' },
        { seq: 2, at: 1002, stream: 'stderr', text: '' },
        { seq: 3, at: 1003, stream: 'progress', text: '{"done":0.5}' },
        { seq: 4, at: 1004, stream: 'system', text: 'stop' },
      ];
      await session.log(held, said);
      const kept = await scene.operator.logs.read(held.task);
      assert.deepEqual(
        kept.map(({ seq, at, stream, text }) => ({ seq, at, stream, text })),
        said,
      );
    },

    'a batch that is sent again adds nothing': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.log(held, [entry(1), entry(2)]);
      await session.log(held, [entry(1), entry(2), entry(3)]);
      assert.deepEqual(await lines(scene, held.task), ['1.1 line 1', '1.2 line 2', '1.3 line 3']);
    },

    'each attempt has lines of its own': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session, { retry: { baseMs: 0 } });
      await session.log(held, [entry(1)]);
      await session.fail(held, 'no');
      const again = await scene.claimOne(session);
      await session.log(again, [entry(1, 'again')]);
      assert.deepEqual(await lines(scene, held.task), ['1.1 line 1', '2.1 again']);
    },

    'what was said before the end is there after it, and nothing more can be said then': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.log(held, [entry(1)]);
      await session.complete(held, 1);
      assert.equal(await refusal(session.log(held, [entry(2)])), 'LEASE_LOST');
      assert.deepEqual(await lines(scene, held.task), ['1.1 line 1']);
    },

    'characters that no store can keep are replaced, not refused': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.log(held, [entry(1, 'a\u0000b\ud800c')]);
      assert.deepEqual(await lines(scene, held.task), ['1.1 a\ufffdb\ufffdc']);
    },

    'many lines at once are all kept': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await session.log(
        held,
        Array.from({ length: 150 }, (_, i) => entry(i + 1, 'x'.repeat(1000))),
      );
      assert.equal((await scene.operator.logs.read(held.task)).length, 150);
    },
  },
};
