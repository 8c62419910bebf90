import assert from 'node:assert/strict';
import type { Assignment } from '../../protocol/link.ts';
import { HANDLER, type LinkTopic, QUEUE } from './scene.ts';

/** The tasks of a waiting claim; undefined until it returns. */
function watch(claim: Promise<readonly Assignment[]>): { readonly came: () => readonly number[] | undefined } {
  let tasks: readonly number[] | undefined;
  void claim.then((batch) => {
    tasks = batch.map(({ task }) => task);
  });
  return { came: () => tasks };
}

export const CLAIMING: LinkTopic = {
  name: 'claiming',
  cases: {
    'an assignment tells everything that a run needs': async (scene) => {
      const session = await scene.open();
      const { task, id } = await scene.push({ input: { to: ['a', 'ü'] }, maxAttempts: 5, timeout: 1500 });
      const { createdAt, ...assignment } = pick(await scene.claimOne(session));
      assert.deepEqual(assignment, {
        task,
        attempt: 1,
        id,
        queue: QUEUE,
        handler: HANDLER,
        payload: '{"to":["a","ü"]}',
        tries: 1,
        maxTries: 5,
        suspect: false,
        timeoutMs: 1500,
      });
      assert.ok(Math.abs(createdAt - scene.world.clock.wall()) < 1000);
    },

    'a task without a timeout has none': async (scene) => {
      const session = await scene.open();
      assert.equal((await scene.running(session)).timeoutMs, undefined);
      assert.equal((await scene.running(session, { timeout: 20 })).timeoutMs, 20);
      assert.equal((await scene.running(session)).timeoutMs, undefined);
    },

    'a long input arrives whole': async (scene) => {
      const session = await scene.open();
      const input = 'é'.repeat(100_000);
      assert.ok((await scene.running(session, { input })).payload === JSON.stringify(input));
    },

    'a claim answers at once with what is there, and with no more than was asked for': async (scene) => {
      const session = await scene.open();
      assert.deepEqual(await scene.claim(session), []);
      for (let n = 0; n < 5; n++) await scene.push();
      assert.equal((await scene.claim(session, { max: 3, waitMs: 60_000 })).length, 3);
      assert.equal((await scene.claim(session, { max: 3, waitMs: 60_000 })).length, 2);
      assert.deepEqual(await scene.claim(session), []);
    },

    'a claim that waits comes back with a late push': async (scene) => {
      const session = await scene.open();
      const claim = watch(scene.claim(session, { waitMs: 30_000 }));
      await scene.world.advance(5000);
      assert.equal(claim.came(), undefined);
      const { task } = await scene.push();
      // A hint wakes it at once; the poll behind it takes a second at most.
      await scene.world.advance(1000);
      assert.deepEqual(claim.came(), [task]);
    },

    'a claim comes back empty when its wait is over': async (scene) => {
      const session = await scene.open();
      const claim = watch(scene.claim(session, { waitMs: 3000 }));
      await scene.world.advance(2500);
      assert.equal(claim.came(), undefined);
      await scene.world.advance(1500);
      assert.deepEqual(claim.came(), []);
    },

    'an abort ends the wait, and what comes later goes to others': async (scene) => {
      const [one, two] = [await scene.open(), await scene.open()];
      const abort = new AbortController();
      const claim = watch(scene.claim(one, { waitMs: 600_000, signal: abort.signal }));
      await scene.world.advance(100);
      abort.abort();
      await scene.world.settle();
      assert.deepEqual(claim.came(), []);
      const held = await scene.running(two);
      assert.equal(await scene.brief(held.task), 'running none 1/1');
    },

    'a claim that was aborted before takes nothing': async (scene) => {
      const session = await scene.open();
      const { task } = await scene.push();
      assert.deepEqual(await scene.claim(session, { waitMs: 1000, signal: AbortSignal.abort() }), []);
      assert.equal(await scene.brief(task), 'ready none 0/0');
    },

    'only tasks of its handlers come to a session': async (scene) => {
      const session = await scene.open({ handlers: ['send', 'print'] });
      const { task } = await scene.push({ handler: 'print' });
      await scene.push({ handler: 'cook' });
      assert.deepEqual(
        (await scene.claim(session)).map((one) => one.task),
        [task],
      );
    },

    'only tasks of its queues come to a session that names some': async (scene) => {
      const [some, all] = [await scene.open({ queues: ['mail', 'fax'] }), await scene.open()];
      const { task: fax } = await scene.push({ queue: 'fax' });
      const { task: pigeon } = await scene.push({ queue: 'pigeon' });
      assert.deepEqual(
        (await scene.claim(some)).map((one) => one.task),
        [fax],
      );
      assert.deepEqual(
        (await scene.claim(all)).map((one) => one.task),
        [pigeon],
      );
    },

    'a session that names no queue at all gets nothing': async (scene) => {
      const session = await scene.open({ queues: [] });
      await scene.push();
      assert.deepEqual(await scene.claim(session), []);
    },

    'nothing comes from a paused queue': async (scene) => {
      const session = await scene.open();
      await scene.push();
      await scene.operator.pause(QUEUE);
      assert.deepEqual(await scene.claim(session), []);
    },

    'no task comes to two sessions': async (scene) => {
      const sessions = [await scene.open(), await scene.open(), await scene.open()];
      for (let n = 0; n < 9; n++) await scene.push();
      const batches = await Promise.all(sessions.map((session) => scene.claim(session, { max: 5 })));
      const tasks = batches.flat().map(({ task }) => task);
      assert.deepEqual([tasks.length, new Set(tasks).size], [9, 9]);
    },

    'a task whose lease ran out comes again as a suspect, its try counted': async (scene) => {
      const session = await scene.open();
      const { fresh } = await scene.overtaken(session);
      assert.deepEqual([fresh.attempt, fresh.tries, fresh.suspect], [2, 2, true]);
    },

    'a task that failed comes again, and is no suspect': async (scene) => {
      const session = await scene.open();
      await session.fail(await scene.running(session, { retry: { baseMs: 0 } }), 'no');
      const again = await scene.claimOne(session);
      assert.deepEqual([again.attempt, again.tries, again.suspect], [2, 2, false]);
    },
  },
};

/** The fields of the port, without those that a link may add. */
function pick(assignment: Assignment): Assignment {
  const { task, attempt, id, queue, handler, payload, tries, maxTries, createdAt, suspect, timeoutMs } = assignment;
  return { task, attempt, id, queue, handler, payload, tries, maxTries, createdAt, suspect, timeoutMs };
}
