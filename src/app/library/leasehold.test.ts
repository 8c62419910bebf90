import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { z } from 'zod';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { giveUp } from '../../worker/define/outcome.ts';
import { task } from '../../worker/define/task.ts';
import { open } from '../open.ts';
import type { AppEvent, Leasehold } from './leasehold.ts';

const folder = tempFolder('leasehold');
const echo = task('echo', { run: (input) => input });
const double = task('double', {
  input: z.object({ n: z.number() }),
  run: ({ n }, ctx) => {
    ctx.log(`n is ${n}`);
    ctx.progress({ half: n / 2 });
    return { twice: 2 * n };
  },
});

/** The same calls must do the same on each of these. */
const GROUNDS: Readonly<Record<string, (t: TestContext) => Promise<Leasehold>>> = {
  'a store in memory': () => open('memory:'),
  'a file': () => open(`sqlite:${join(folder, `${randomUUID()}.db`)}`, { durability: 'normal' }),
  'a node over HTTP': async (t) => {
    const { service, admin } = await nodeScene(t, { durability: 'normal' });
    return open(service.address as 'http://node', { token: admin });
  },
};

async function gather<T>(items: AsyncIterable<T>, count: number): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) if (found.push(item) === count) break;
  return found;
}

for (const [ground, make] of Object.entries(GROUNDS)) {
  const opened = async (t: TestContext): Promise<Leasehold> => {
    let app: Leasehold | undefined;
    // Closed before the node that it may talk to, which is opened below.
    t.after(() => app?.close());
    app = await make(t);
    return app;
  };

  describe(`the library on ${ground}`, () => {
    test('from push to result: typed, with log, progress and numbers', async (t) => {
      const app = await opened(t);
      const worker = app.worker({ tasks: [double], slots: 2 });
      await worker.start();
      const handle = await app.push(double, { n: 21 });
      assert.equal(handle.fresh, true);
      const { twice } = await handle.result();
      assert.equal(twice satisfies number, 42);
      assert.equal(await handle.state(), 'completed');
      const said: string[] = [];
      for await (const { text, stream, attempt } of handle.logs()) said.push(`${attempt} ${stream} ${text}`);
      assert.deepEqual(said, ['1 log n is 21', '1 progress {"half":10.5}']);
      assert.deepEqual(await handle.progress(), { half: 10.5 });
      const stats = { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 1, failed: 0, cancelled: 0 };
      assert.deepEqual(await app.stats('double'), stats);
      assert.deepEqual(await app.queues(), [{ name: 'double', paused: false, stats }]);
      assert.deepEqual(await app.stats('nobody-pushed-here'), { ...stats, completed: 0 });
      const view = await app.get(handle.id);
      assert.deepEqual([view?.id, view?.input, view?.result], [handle.id, { n: 21 }, { twice: 42 }]);
      await worker.stop();
    });

    test('input that the schema or JSON refuses, and unknown options, are refused before anything is stored', async (t) => {
      const app = await opened(t);
      assert.equal(await refusal(app.push(double, { n: 'one' as never })), 'INVALID_INPUT');
      assert.equal(await refusal(app.pushMany(double, [{ n: 1 }, { n: null as never }])), 'INVALID_INPUT');
      assert.equal(await refusal(app.push(echo, 1n)), 'INVALID_INPUT');
      assert.equal(await refusal(app.push(echo, 'x'.repeat(2_000_000))), 'TOO_LARGE');
      assert.equal(await refusal(app.push(echo, 1, { quue: 'x' } as never)), 'UNKNOWN_OPTION');
      assert.equal(await refusal(app.push(echo, 1, { priority: 0.5 })), 'INVALID_INPUT');
      assert.equal(await refusal(app.push(echo, 1, { limits: ['no-such-limit'] })), 'NOT_FOUND');
      assert.equal(await refusal(app.push(echo, 1, { tx: {} as never })), 'INVALID_INPUT');
      assert.deepEqual((await app.stats('echo')).ready + (await app.stats('double')).ready, 0);
    });

    test('many tasks are pushed in order, and one worker gives all their results', async (t) => {
      const app = await opened(t);
      const inputs = Array.from({ length: 1203 }, (_, n) => n);
      const handles = await app.pushMany(echo, inputs);
      await app.worker({ tasks: [echo], slots: 5 }).start();
      assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), inputs);
      assert.deepEqual(await app.pushMany(echo, []), []);
    });

    test('a unique key leads to the existing task, and refuses another input', async (t) => {
      const app = await opened(t);
      const first = await app.push(echo, 1, { unique: 'k' });
      const again = await app.push(echo, 1, { unique: { key: 'k' } });
      assert.deepEqual([first.fresh, again.fresh, again.id === first.id], [true, false, true]);
      assert.equal(await refusal(app.push(echo, 2, { unique: 'k' })), 'UNIQUE_CONFLICT');
    });

    test('an operation id gives the first answer again', async (t) => {
      const app = await opened(t);
      const first = await app.push(echo, 1, { op: 'once' });
      assert.equal((await app.push(echo, 1, { op: 'once' })).id, first.id);
      assert.notEqual((await app.push(echo, 1, { op: 'twice' })).id, first.id);
      assert.equal((await app.stats('echo')).ready, 2);
    });

    test('a push may set delay, priority, queue, attempts, placement, limits and fairness', async (t) => {
      const app = await opened(t);
      await app.setLimit('api', { concurrent: 3, rate: { max: 10, window: '1s' } }, 'me');
      const { id } = await app.push(echo, 1, {
        delay: '1h',
        priority: 9,
        queue: 'other',
        maxAttempts: 7,
        placement: { requires: ['gpu'] },
        limits: [{ name: 'api', key: 'me', weight: 2 }],
        fairness: 'me',
      });
      const view = await app.get(id);
      assert.deepEqual(
        [view?.state, view?.priority, view?.queue, view?.handler, view?.maxAttempts, view?.placement?.requires],
        ['scheduled', 9, 'other', 'echo', 7, ['gpu']],
      );
      assert.deepEqual(view?.limits, [{ name: 'api', key: 'me', weight: 2 }]);
      assert.deepEqual(view?.fairness, { key: 'me', weight: 1 });
      const due = (view?.runAt ?? 0) - (view?.createdAt ?? 0);
      assert.ok(Math.abs(due - 3_600_000) < 1000, String(due));
      assert.ok((await app.setLimit('api', { concurrent: 4 })) > 1, 'a change is another revision');
      await app.removeLimit('api');
      assert.equal(await refusal(app.removeLimit('api')), 'NOT_FOUND');
      assert.equal(await refusal(app.setLimit('api', { concurrent: -1 })), 'INVALID_INPUT');
    });

    test('higher priorities run first', async (t) => {
      const app = await opened(t);
      const ran: unknown[] = [];
      const note = task('note', { run: (input) => void ran.push(input) });
      const low = await app.push(note, 'low', { priority: -1 });
      const handles = [low, await app.push(note, 'high', { priority: 5 }), await app.push(note, 'middle')];
      await app.worker({ tasks: [note], slots: 1, lookahead: 0 }).start();
      await Promise.all(handles.map((handle) => handle.result()));
      assert.deepEqual(ran, ['high', 'middle', 'low']);
    });

    test('a task that fails gives its error, and can run again', async (t) => {
      const app = await opened(t);
      let good = false;
      const moody = task('moody', { run: () => (good ? 'fine' : giveUp('not today')) });
      await app.worker({ tasks: [moody] }).start();
      const handle = await app.push(moody);
      await assert.rejects(handle.result(), (error) => {
        assert.ok(isEngineError(error, 'TASK_FAILED'), String(error));
        assert.match(error.message, new RegExp(`${handle.id} failed: not today`));
        assert.deepEqual([error.details?.state, error.details?.reason], ['failed', 'gave_up']);
        return true;
      });
      good = true;
      await app.retry(handle.id);
      assert.equal(await handle.result(), 'fine');
      const waiting = await app.push(echo, 1);
      assert.equal(await refusal(app.retry(waiting.id)), 'ILLEGAL_TRANSITION');
    });

    test('a waiting task is cancelled, and its waiters learn of it', async (t) => {
      const app = await opened(t);
      const handle = await app.push(echo, 1);
      const waited = assert.rejects(handle.result(), /it was cancelled/);
      assert.equal(await handle.cancel(), 'cancelled');
      await waited;
      assert.equal(await app.cancel(handle.id), 'finished');
    });

    test('a running task gets the request to stop', async (t) => {
      const app = await opened(t);
      const begun = Promise.withResolvers<void>();
      const patient = task('patient', {
        run: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            begun.resolve();
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      });
      await app.worker({ tasks: [patient] }).start();
      const handle = await app.push(patient);
      await begun.promise;
      assert.equal(await app.cancel(handle.id), 'requested');
      await assert.rejects(handle.result(), /it was cancelled/);
    });

    test('one waiter for a result can stop, and the others go on', async (t) => {
      const app = await opened(t);
      const handle = await app.push(echo, 'late');
      const impatient = new AbortController();
      const left = assert.rejects(handle.result({ signal: impatient.signal }), /enough/);
      const stays = handle.result();
      impatient.abort(new Error('enough'));
      await left;
      await app.worker({ tasks: [echo] }).start();
      assert.equal(await stays, 'late');
    });

    test('the feed continues after any position without gap or repeat', async (t) => {
      const app = await opened(t);
      await app.pushMany(echo, [1, 2, 3]);
      await app.worker({ tasks: [echo] }).start();
      // Three events of each task; events of workers stand between them and share their numbers.
      const items: { kind: string; event: AppEvent }[] = [];
      const ofTasks = () => items.filter(({ kind }) => kind === 'event');
      for await (const item of app.events({ after: 0 })) {
        items.push(item as { kind: string; event: AppEvent });
        if (ofTasks().length === 9) break;
      }
      const seqs = items.map(({ event }) => event.seq);
      assert.deepEqual(
        seqs,
        seqs.map((_, i) => i + 1),
      );
      const all = ofTasks().map(({ event }) => event);
      assert.deepEqual(all.map(({ change }) => change).toSorted(), [
        ...Array<string>(3).fill('claimed'),
        ...Array<string>(3).fill('completed'),
        ...Array<string>(3).fill('created'),
      ]);
      for (const { id, queue } of all) {
        assert.match(id, /^task_/);
        assert.equal(queue, 'echo');
      }
      assert.deepEqual(await gather(app.events({ after: 4 }), items.length - 4), items.slice(4));
      const stop = new AbortController();
      const waiting = gather(app.events({ after: items.length, signal: stop.signal }), 1);
      stop.abort();
      assert.deepEqual(await waiting, []);
      const [lost] = await gather(app.events({ after: items.length + 1000 }), 1);
      assert.equal(lost?.kind, 'reset', 'numbers that this feed never had are those of another one');
    });

    test('the events of one task end with its end, now and later', async (t) => {
      const app = await opened(t);
      const [handle] = await app.pushMany(echo, [1, 2]);
      assert.ok(handle);
      const live = Array.fromAsync(handle.events({ after: 0 }));
      await app.worker({ tasks: [echo] }).start();
      const words = (await live).map(({ change, id }) => [change, id === handle.id]);
      assert.deepEqual(words, [
        ['created', true],
        ['claimed', true],
        ['completed', true],
      ]);
      assert.deepEqual(
        (await Array.fromAsync(handle.events({ after: 0 }))).map(({ change }) => change),
        ['created', 'claimed', 'completed'],
      );
      assert.deepEqual(await Array.fromAsync(handle.events()), [], 'nothing comes after its end');
    });

    test('a task that nobody can run is explained', async (t) => {
      const app = await opened(t);
      const { id } = await app.push(echo, 1, { placement: { requires: ['gpu'] } });
      const why = await app.explain(id);
      assert.deepEqual([why.taskId, why.state, why.runnable], [id, 'ready', false]);
      assert.notEqual(why.summary, '');
    });

    test('a batch beyond the backlog of a limit says which tasks are stored, and where', async (t) => {
      const app = await opened(t);
      await app.setLimit('api', { concurrent: 1, backlog: 1100 });
      const inputs = Array.from({ length: 1150 }, (_, i) => i);
      const error = await app.pushMany(echo, inputs, { limits: ['api'] }).then(
        () => assert.fail('it was not refused'),
        (refused: unknown) => refused,
      );
      assert.ok(isEngineError(error, 'LIMIT_REACHED'), String(error));
      const { index, stored, pushed } = error.details as { index: number; stored: number; pushed: (string | null)[] };
      assert.deepEqual([index, stored, pushed.length], [1100, 1100, 1150]);
      assert.ok(pushed.slice(1100).every((id) => id === null));
      for (const place of [0, 999, 1000, 1099]) {
        assert.equal((await app.get(pushed[place] as string))?.input, place);
      }
      assert.equal(await app.handle(pushed[7] as string).state(), 'ready');
    });

    test('a graph runs in its order, after existing tasks too, and is cancelled as a tree', async (t) => {
      const app = await opened(t);
      const before = await app.push(echo, 'before');
      const ran: unknown[] = [];
      const note = task('note', { run: (input) => void ran.push(input) });
      const graph = await app.pushGraph([
        { name: 'a', task: note, input: 'a', after: [before] },
        { name: 'b', task: note, input: 'b', after: ['a', { on: before.id, optional: true }] },
        { name: 'c', task: note, input: 'c', after: [{ on: 'b' }], afterFailure: 'run' },
      ]);
      assert.deepEqual(Object.keys(graph), ['a', 'b', 'c']);
      assert.equal(await graph['b']?.state(), 'waiting');
      await app.worker({ tasks: [echo, note], slots: 4 }).start();
      await graph['c']?.result();
      assert.deepEqual(ran, ['a', 'b', 'c']);
      assert.equal(await refusal(app.pushGraph([{ task: note, after: ['nobody'] }])), 'INVALID_INPUT');
      const circle = [
        { name: 'x', task: note, after: ['y'] },
        { name: 'y', task: note, after: ['x'] },
      ];
      assert.equal(await refusal(app.pushGraph(circle)), 'INVALID_INPUT');
      await app.stopWorkers();
      const tree = await app.pushGraph([
        { name: 'a', task: echo },
        { name: 'b', task: echo, after: ['a'] },
      ]);
      const would = await app.cancelTree((tree['a'] as { id: string }).id, { dryRun: true });
      assert.deepEqual([would.dryRun, would.counts.cancelled, would.tasks.length], [true, 2, 2]);
      assert.equal((await tree['a']?.cancelTree())?.counts.cancelled, 2);
      assert.equal((await tree['a']?.retryTree())?.counts.again, 2);
    });

    test('signals and decisions reach the tasks that wait for them', async (t) => {
      const app = await opened(t);
      const waiter = task('waiter', {
        run: async (_, ctx) => [
          (await ctx.wait('word', { signal: 'word' })).value,
          (await ctx.wait('yes', { approval: { title: 'Really?' } })).value,
        ],
      });
      await app.worker({ tasks: [waiter] }).start();
      const handle = await app.push(waiter);
      for await (const { change } of handle.events({ after: 0 })) if (change === 'parked') break;
      assert.deepEqual((await app.signal('word', { a: 1 })).woken, [handle.id]);
      assert.deepEqual(await app.signal('nobody', 1, { broadcast: true }), {
        channel: 'nobody',
        woken: [],
        kept: false,
      });
      let parked = 0;
      for await (const { change } of handle.events({ after: 0 })) if (change === 'parked' && ++parked === 2) break;
      const [asked] = await app.approvals();
      assert.deepEqual([asked?.id, asked?.title, asked?.actions], [handle.id, 'Really?', ['approve', 'reject']]);
      await app.decide(handle.id, { action: 'approve', value: 7, by: 'ada' });
      const [word, decision] = (await handle.result()) as [unknown, { action: string; value: unknown; by: string }];
      assert.deepEqual([word, decision.action, decision.value, decision.by], [{ a: 1 }, 'approve', 7, 'ada']);
      assert.equal(await refusal(app.decide(handle.id, { action: 'approve' })), 'CONFLICT');
    });

    test('bad ids are refused, and a task that is gone is not found', async (t) => {
      const app = await opened(t);
      for (const name of ['get', 'cancel', 'explain', 'retry', 'cancelTree'] as const)
        assert.equal(await refusal(app[name]('garbage')), 'INVALID_ID', name);
      assert.throws(() => app.worker({ tasks: [echo], slots: 0 }), /slots/);
    });

    test('after a close nothing is answered, and waiters get an error', async (t) => {
      const app = await opened(t);
      const handle = await app.push(echo, 1);
      const waiting = assert.rejects(handle.result(), (error) => isEngineError(error, 'STORE_CLOSED'));
      // It waits by now: this answer came after its own first read.
      await handle.state();
      await app.close();
      await waiting;
      assert.equal(await refusal(app.push(echo, 1)), 'STORE_CLOSED');
    });
  });
}
