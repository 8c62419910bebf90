import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type EngineError, isEngineError } from '../../core/errors.ts';
import type { TaskEvent } from '../../core/task/event.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { task } from '../../worker/define/task.ts';
import { type App, open } from '../open.ts';
import type { TaskHandle } from './handle.ts';

const mail = task('mail', { maxAttempts: 1, run: () => 'sent' });

async function rig(t: TestContext) {
  const world = new VirtualWorld();
  const app = await open('memory:', { world, duties: false });
  t.after(() => app.close());
  const worker = await app.engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const running = async (): Promise<{ handle: TaskHandle<unknown>; grant: Grant }> => {
    const handle = await app.push(mail, 'x');
    const [grant] = await app.engine.claim({ worker, max: 1, task: handle.task });
    assert.ok(grant);
    return { handle, grant };
  };
  return { world, app, engine: app.engine, running };
}

async function failureOf(promise: Promise<unknown>): Promise<EngineError> {
  const error: unknown = await promise.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  );
  assert.ok(isEngineError(error, 'TASK_FAILED'), String(error));
  return error;
}

function reading(events: AsyncIterable<TaskEvent>): { readonly changes: string[]; readonly ended: Promise<void> } {
  const changes: string[] = [];
  const ended = (async () => {
    for await (const { change } of events) changes.push(change);
  })();
  return { changes, ended };
}

test('the result is what the handler returned, whenever it is asked for', async (t) => {
  const { engine, app, running } = await rig(t);
  const { handle, grant } = await running();
  const early = handle.result();
  await engine.complete(grant, { n: [1, 'ü'] });
  assert.deepEqual(await early, { n: [1, 'ü'] });
  assert.deepEqual(await handle.result(), { n: [1, 'ü'] });
  assert.deepEqual(await app.handle(handle.id).result(), { n: [1, 'ü'] });
  const { handle: silent, grant: other } = await running();
  await engine.complete(other);
  assert.equal(await silent.result(), undefined);
  assert.equal(engine.waiting, false);
});

test('a failed task rejects with the error of its last attempt and its reason', async (t) => {
  const { engine, running } = await rig(t);
  const { handle, grant } = await running();
  await engine.fail(grant, new RangeError('out of paper'));
  const error = await failureOf(handle.result());
  assert.match(error.message, /out of paper/);
  const { task: id, state, reason, error: cause } = error.details as Record<string, unknown>;
  assert.deepEqual([id, state, reason], [handle.id, 'failed', 'exhausted']);
  assert.equal((cause as { name: string }).name, 'RangeError');
});

test('whatever was thrown, the rejection has a message', async (t) => {
  const { engine, running } = await rig(t);
  for (const thrown of [null, undefined, 'text', 7, { message: 5 }, []]) {
    const { handle, grant } = await running();
    await engine.fail(grant, thrown, { giveUp: true });
    const error = await failureOf(handle.result());
    assert.match(error.message, /failed: .+\./);
    assert.equal(error.details?.reason, 'gave_up');
  }
  const { handle, grant } = await running();
  await engine.fail(grant, 'plain text', { giveUp: true });
  assert.match((await failureOf(handle.result())).message, /plain text/);
});

test('a cancelled task rejects and says that it was cancelled', async (t) => {
  const { engine, app, running } = await rig(t);
  const waiting = await app.push(mail, 'x');
  assert.equal(await waiting.cancel(), 'cancelled');
  const error = await failureOf(waiting.result());
  assert.match(error.message, /it was cancelled/);
  assert.deepEqual([error.details?.state, error.details?.reason], ['cancelled', 'requested']);
  const { handle, grant } = await running();
  assert.equal(await handle.cancel(), 'requested');
  assert.equal(await handle.state(), 'running');
  await engine.cancelled(grant);
  assert.equal(await handle.state(), 'cancelled');
});

test('waiting for a result can be aborted', async (t) => {
  const { engine, world, running } = await rig(t);
  const { handle } = await running();
  await assert.rejects(handle.result({ signal: AbortSignal.abort(new Error('before')) }), /before/);
  const abort = new AbortController();
  const result = handle.result({ signal: abort.signal });
  abort.abort(new Error('at once'));
  await assert.rejects(result, /at once/);
  const second = new AbortController();
  const later = handle.result({ signal: second.signal });
  await world.settle();
  second.abort(new Error('later'));
  await assert.rejects(later, /later/);
  await world.settle();
  assert.equal(engine.waiting, false);
});

test('progress is the last reported value, over all attempts', async (t) => {
  const { engine, running } = await rig(t);
  const { handle, grant } = await running();
  assert.equal(await handle.progress(), undefined);
  const say = (seq: number, text: string, stream: 'progress' | 'log' = 'progress') =>
    engine.logs.append(grant, [{ seq, at: seq, stream, text }]);
  await say(1, '0.5');
  await say(2, 'not this', 'log');
  assert.equal(await handle.progress(), 0.5);
  for (let seq = 3; seq < 1203; seq++) void say(seq, `line ${seq}`, 'log');
  await say(1203, '{"done":9}');
  assert.deepEqual(await handle.progress(), { done: 9 });
});

test('logs come as they are written, and end with the task', async (t) => {
  const { engine, world, running } = await rig(t);
  const { handle, grant } = await running();
  const texts: string[] = [];
  const ended = (async () => {
    for await (const { attempt, text } of handle.logs()) texts.push(`${attempt} ${text}`);
  })();
  await engine.logs.append(grant, [{ seq: 1, at: 1, stream: 'log', text: 'one' }]);
  await world.settle();
  assert.deepEqual(texts, ['1 one']);
  await engine.logs.append(grant, [{ seq: 2, at: 2, stream: 'stdout', text: 'two' }]);
  await engine.complete(grant);
  await world.settle();
  await ended;
  assert.deepEqual(texts, ['1 one', '1 two']);
  const abort = new AbortController();
  const { handle: quiet } = await running();
  const waiting = (async () => {
    for await (const line of quiet.logs({ signal: abort.signal })) assert.fail(line.text);
  })();
  await world.settle();
  abort.abort();
  await waiting;
  assert.equal(engine.waiting, false);
});

test('events are those of the task from now on, and end with it', async (t) => {
  const { engine, app, world, running } = await rig(t);
  const { handle, grant } = await running();
  const { changes, ended } = reading(handle.events());
  await world.settle();
  assert.deepEqual(changes, [], 'what was before is not told');
  await app.push(mail, 'another');
  await handle.cancel();
  await engine.cancelled(grant);
  await world.settle();
  await ended;
  assert.deepEqual(changes, ['cancel_requested', 'cancelled']);
  assert.equal(engine.waiting, false);
});

test('events from a position on include earlier ones', async (t) => {
  const { engine, world, running } = await rig(t);
  const { handle, grant } = await running();
  const early = reading(handle.events({ after: 0 }));
  await world.settle();
  assert.deepEqual(early.changes, ['created', 'claimed']);
  await engine.complete(grant);
  await world.settle();
  await early.ended;
  const late = reading(handle.events({ after: 0 }));
  await world.settle();
  await late.ended;
  assert.deepEqual(late.changes, ['created', 'claimed', 'completed']);
});

test('events of a task that has ended already end at once', async (t) => {
  const { engine, app, world, running } = await rig(t);
  const { handle, grant } = await running();
  await engine.complete(grant);
  for (let n = 0; n < 3; n++) await app.push(mail, 'another');
  for (const events of [handle.events(), handle.events({ after: 3 }), handle.events({ after: 1_000_000 })]) {
    const { changes, ended } = reading(events);
    await world.settle();
    await ended;
    assert.deepEqual(changes, []);
  }
  assert.equal(engine.waiting, false);
});

test('events can be aborted', async (t) => {
  const { engine, world, running } = await rig(t);
  const { handle } = await running();
  const abort = new AbortController();
  const { ended } = reading(handle.events({ signal: abort.signal }));
  await world.settle();
  abort.abort();
  await ended;
  assert.equal(engine.waiting, false);
});

test('a task that is gone, or never was, is not found', async (t) => {
  const { engine, app, world } = await rig(t);
  const id = engine.idOf({ task: 4711, createdAt: world.clock.wall() });
  const handle = app.handle(id);
  assert.equal(await refusal(handle.state()), 'NOT_FOUND');
  assert.equal(await refusal(handle.result()), 'NOT_FOUND');
  assert.equal(await refusal(handle.cancel()), 'NOT_FOUND');
  assert.equal(await app.get(id), undefined);
});

test('ids of another cluster are refused', async (t) => {
  const { app } = await rig(t);
  const { app: other } = (await rig(t)) as { app: App };
  const { id } = await other.push(mail, 'x');
  await app.push(mail, 'x');
  assert.throws(() => app.handle(id), { code: 'INVALID_ID' });
  assert.equal(await refusal(app.get(id)), 'INVALID_ID');
  assert.equal(await refusal(app.cancel('garbage')), 'INVALID_ID');
  assert.equal(await refusal(app.retry('')), 'INVALID_ID');
});
