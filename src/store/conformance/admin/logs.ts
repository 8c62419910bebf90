import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import { type LogEntry, STREAMS } from '../../../core/task/log.ts';
import type { LogAnswer, LogLine, LogPlace } from '../../store.ts';
import { DAY, HOUR, type Scene } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

const line = (seq: number, text = `line ${seq}`): LogEntry => ({ seq, at: 1000 + seq, stream: 'stdout', text });

const append = async (
  scene: Scene,
  { task, attempt }: Lease,
  ...entries: readonly LogEntry[]
): Promise<LogAnswer | undefined> => (await scene.store.logAppend({ items: [{ task, attempt, entries }] }))[0];

const read = (scene: Scene, task: number, after?: LogPlace, limit = 100): Promise<readonly LogLine[]> =>
  scene.store.logRead({ task, limit, ...(after === undefined ? {} : { after }) });

const placesOf = (lines: readonly LogLine[]): readonly string[] => lines.map(({ attempt, seq }) => `${attempt}/${seq}`);

export const LOGS: Topic = {
  name: 'logs',
  cases: {
    'a line comes back as it was written, with its attempt, its time and its stream': async (scene) => {
      const grant = await scene.running();
      const entries = STREAMS.map((stream, i) => ({
        seq: i + 1,
        at: 5000 + i,
        stream,
        text: `said on ${stream} – ü 🚂`,
      }));
      assert.equal(await append(scene, grant, ...entries), 'done');
      assert.deepEqual(
        await read(scene, grant.task),
        entries.map((entry) => ({ attempt: 1, ...entry })),
      );
    },

    'a task that said nothing, and one that nobody knows, have an empty log': async (scene) => {
      const grant = await scene.running();
      assert.equal(await append(scene, grant), 'done');
      assert.deepEqual(await read(scene, grant.task), []);
      assert.deepEqual(await read(scene, 4711), []);
    },

    'lines are in the order of their attempts and numbers, whenever they were written': async (scene) => {
      const first = await scene.running();
      await append(scene, first, line(3), line(10));
      await append(scene, first, line(1), line(2));
      await scene.giveBack(first);
      const second = await scene.claimOne();
      await append(scene, second, line(2), line(1));
      assert.deepEqual(placesOf(await read(scene, first.task)), ['1/1', '1/2', '1/3', '1/10', '2/1', '2/2']);
    },

    'a reader goes on after the line that it names, and gets no more than it asked for': async (scene) => {
      const first = await scene.running();
      await append(scene, first, line(1), line(2), line(3));
      await scene.giveBack(first);
      await append(scene, await scene.claimOne(), line(1), line(2));
      const after = (attempt: number, seq: number, limit?: number): Promise<readonly string[]> =>
        read(scene, first.task, { attempt, seq }, limit).then(placesOf);
      assert.deepEqual(await after(1, 2), ['1/3', '2/1', '2/2']);
      assert.deepEqual(await after(1, 2, 2), ['1/3', '2/1']);
      assert.deepEqual(await after(1, 99), ['2/1', '2/2']);
      assert.deepEqual(await after(2, 2), []);
      assert.deepEqual(placesOf(await read(scene, first.task, undefined, 1)), ['1/1']);
    },

    'a line that is written again stays as it was, and new lines beside it are kept': async (scene) => {
      const grant = await scene.running();
      await append(scene, grant, line(1, 'first'), line(2));
      await scene.unchanged(() => append(scene, grant, line(1, 'again'), line(2)));
      assert.equal(await append(scene, grant, line(2, 'again'), line(3)), 'done');
      assert.deepEqual(
        (await read(scene, grant.task)).map(({ text }) => text),
        ['first', 'line 2', 'line 3'],
      );
    },

    'many logs are written in one call, each with its own answer': async (scene) => {
      const [one, two] = await scene.pushMany(2);
      await scene.claim({ max: 2 });
      const answers = await scene.store.logAppend({
        items: [
          { task: one as number, attempt: 1, entries: [line(1)] },
          { task: two as number, attempt: 2, entries: [line(1)] },
          { task: 4711, attempt: 1, entries: [line(1)] },
          { task: two as number, attempt: 1, entries: [line(1), line(2)] },
          { task: one as number, attempt: 1, entries: [line(2)] },
        ],
      });
      assert.deepEqual(answers, ['done', 'lost', 'lost', 'done', 'done']);
      assert.deepEqual(placesOf(await read(scene, one as number)), ['1/1', '1/2']);
      assert.deepEqual(placesOf(await read(scene, two as number)), ['1/1', '1/2']);
    },

    'the last lines of an attempt and its settle may leave together': async (scene) => {
      const grant = await scene.running();
      const [answer, settled] = await Promise.all([append(scene, grant, line(1)), scene.settle(grant, 'completed')]);
      assert.deepEqual([answer, settled], ['done', 'done']);
      assert.equal(await append(scene, grant, line(2)), 'lost');
      assert.deepEqual(placesOf(await read(scene, grant.task)), ['1/1']);
    },

    'a task that is asked to stop can still say what it does': async (scene) => {
      const grant = await scene.running();
      await scene.store.taskCancel({ tasks: [grant.task] });
      assert.equal(await append(scene, grant, line(1)), 'done');
    },

    'a long text comes back letter for letter': async (scene) => {
      const grant = await scene.running();
      const text = 'ab\nü🚂'.repeat(9000);
      await append(scene, grant, line(1, text));
      assert.ok((await read(scene, grant.task))[0]?.text === text);
    },

    'the size of a log is that of one attempt, in lines and in bytes, and a repeated line counts once': async (
      scene,
    ) => {
      const grant = await scene.running();
      const { task } = grant;
      const size = (attempt: number): Promise<unknown> => scene.store.logSize({ task, attempt });
      assert.deepEqual(await size(1), { entries: 0, bytes: 0 });
      await append(scene, grant, line(1, 'ü🚂'), line(2, ''));
      await append(scene, grant, line(1, 'again'), line(3, 'abc'));
      assert.deepEqual(await size(1), { entries: 3, bytes: 9 });
      await scene.giveBack(grant);
      await append(scene, await scene.claimOne(), line(1, 'x'));
      assert.deepEqual(
        [await size(1), await size(2)],
        [
          { entries: 3, bytes: 9 },
          { entries: 1, bytes: 1 },
        ],
      );
    },

    'the log of a finished task stays, also when the task is run again': async (scene) => {
      const grant = await scene.running();
      await append(scene, grant, line(1));
      await scene.settle(grant, 'failed');
      assert.deepEqual(placesOf(await read(scene, grant.task)), ['1/1']);
      await scene.store.taskRevive({ tasks: [grant.task] });
      await append(scene, await scene.claimOne(), line(1));
      assert.deepEqual(placesOf(await read(scene, grant.task)), ['1/1', '2/1']);
    },

    'the log of a pruned task goes with it, and no other does': async (scene) => {
      const duty = await scene.duty('pruner', 30 * DAY);
      const old = await scene.running();
      await append(scene, old, line(1), line(2));
      await scene.settle(old, 'completed');
      const kept = await scene.running();
      await append(scene, kept, line(1));
      await scene.pass(DAY);
      assert.equal((await scene.prune(duty, HOUR)).tasks, 1);
      assert.deepEqual(await read(scene, old.task), []);
      assert.deepEqual(placesOf(await read(scene, kept.task)), ['1/1']);
    },
  },
};
