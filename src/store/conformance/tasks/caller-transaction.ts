import assert from 'node:assert/strict';
import type { NamedTask } from '../../store.ts';
import { HOUR } from '../kit/scene.ts';
import { type Case, needing, type Run, type Topic } from '../kit/topic.ts';

const TASK: NamedTask = {
  queue: 'mail',
  handler: 'send',
  specBody: '{}',
  priority: 0,
  maxTries: 3,
  payload: '{"n":1}',
};

const case_ = (run: Run): Case => needing(['callerTransactions', 'caller'], run);

export const CALLER_TRANSACTION: Topic = {
  name: "the caller's own transaction",
  needs: ['whole'],
  cases: {
    'what is pushed in it exists when the caller commits, and for nobody before': case_(async (scene) => {
      const { tx, begin, commit } = await scene.caller();
      await begin();
      const [answer] = await scene.store.taskPushIn({ tx, items: [{ ...TASK, priority: 4 }] });
      assert.ok(answer?.ok && answer.fresh && answer.state === 'ready');
      assert.deepEqual(await scene.store.taskGet({ tasks: [answer.task] }), [undefined]);
      assert.deepEqual((await scene.look()).events, []);
      await commit();
      const record = await scene.get(answer.task);
      assert.deepEqual([record.queue, record.handler, record.state, record.priority], ['mail', 'send', 'ready', 4]);
      assert.equal(record.createdAt, answer.createdAt);
      assert.equal((await scene.stats()).ready, 1);
      assert.equal((await scene.claimOne()).task, answer.task);
    }),

    'a roll-back leaves nothing: no task, no event, no counter, no lane': case_(async (scene) => {
      const { tx, begin, rollback } = await scene.caller();
      await scene.unchanged(async () => {
        await begin();
        await scene.store.taskPushIn({
          tx,
          items: [
            { ...TASK, unique: { key: 'k', hash: 1, windowMs: HOUR }, op: 'op-1' },
            { ...TASK, queue: 'new', delayMs: HOUR, payload: JSON.stringify('x'.repeat(5000)) },
          ],
        });
        await rollback();
      });
      const fresh = await scene.pushAnswer({ unique: { key: 'k', hash: 2, windowMs: HOUR }, op: 'op-1' });
      assert.ok(fresh.ok && fresh.fresh);
    }),

    'a push that fails part-way leaves nothing of itself, though the caller commits': case_(async (scene) => {
      const { tx, begin, commit } = await scene.caller();
      await scene.unchanged(async () => {
        await begin();
        // No store can keep the second task, and the first one is written by then.
        const broken = { ...TASK, op: 'op-2', maxTries: null as unknown as number };
        await assert.rejects(async () => scene.store.taskPushIn({ tx, items: [{ ...TASK, op: 'op-1' }, broken] }));
        await commit();
      });
      await begin();
      const [answer] = await scene.store.taskPushIn({ tx, items: [{ ...TASK, op: 'op-1' }] });
      await commit();
      assert.ok(answer?.ok && answer.fresh);
    }),

    'lanes and specs that were rolled back are made anew, by the caller and by the store': case_(async (scene) => {
      const { tx, begin, commit, rollback } = await scene.caller();
      await begin();
      await scene.store.taskPushIn({ tx, items: [{ ...TASK, queue: 'one', specBody: '{"a":1}' }] });
      await rollback();
      const lane = await scene.lane('two');
      const spec = await scene.spec('{"b":2}');
      await begin();
      const [answer] = await scene.store.taskPushIn({ tx, items: [{ ...TASK, queue: 'one', specBody: '{"a":1}' }] });
      await commit();
      assert.ok(answer?.ok);
      const record = await scene.get(answer.task);
      assert.deepEqual([record.queue, record.handler], ['one', 'send']);
      assert.notEqual(record.lane, lane);
      assert.notEqual(record.spec, spec);
      assert.equal(await scene.store.specGet({ spec: record.spec }), '{"a":1}');
      assert.equal((await scene.running({ queue: 'two' })).lane, lane);
    }),

    'pushes of several calls in one transaction go together, delayed ones and long ones too': case_(async (scene) => {
      const { tx, begin, commit } = await scene.caller();
      await scene.push();
      await begin();
      await scene.store.taskPushIn({ tx, items: [TASK, TASK] });
      await scene.store.taskPushIn({ tx, items: [{ ...TASK, delayMs: HOUR }] });
      const payload = JSON.stringify('x'.repeat(70_000));
      const [long] = await scene.store.taskPushIn({ tx, items: [{ ...TASK, handler: 'other', payload }] });
      await commit();
      const stats = await scene.stats();
      assert.deepEqual([stats.ready, stats.scheduled], [4, 1]);
      assert.ok(long?.ok);
      assert.ok((await scene.get(long.task)).payload === payload);
      await scene.push();
    }),

    'a unique key that another push holds leads to its task, or is refused': case_(async (scene) => {
      const unique = { key: 'k', hash: 1, windowMs: HOUR };
      const task = await scene.push({ unique });
      const { tx, begin, commit } = await scene.caller();
      await begin();
      const answers = await scene.store.taskPushIn({
        tx,
        items: [
          { ...TASK, unique },
          { ...TASK, unique: { ...unique, hash: 2 } },
        ],
      });
      await commit();
      assert.ok(answers[0]?.ok);
      assert.deepEqual([answers[0].task, answers[0].fresh], [task, false]);
      assert.deepEqual(answers[1], { ok: false, conflict: task });
    }),

    'an operation id of the transaction is known to later pushes': case_(async (scene) => {
      const { tx, begin, commit } = await scene.caller();
      await begin();
      const [answer] = await scene.store.taskPushIn({ tx, items: [{ ...TASK, op: 'op-1' }] });
      await commit();
      const again = await scene.pushAnswer({ op: 'op-1' });
      assert.ok(answer?.ok && again.ok && !again.fresh && again.task === answer.task);
    }),
  },
};
