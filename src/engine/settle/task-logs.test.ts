import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type LogEntry, logCost, MAX_LOG_BYTES } from '../../core/task/log.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant, LogAppend, LogLine, Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';

const TASK = { queue: 'mail', handler: 'send' } as const;

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  /** The engine of another process on the same data; its appends wake nobody here. */
  readonly other: Engine;
  readonly running: () => Promise<Grant>;
  /** Every call of `logAppend` that the engine made. */
  readonly flushes: (readonly LogAppend[])[];
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const real = await openSqlite({ file: 'memory:', world });
  t.after(() => real.close());
  const flushes: (readonly LogAppend[])[] = [];
  const store = new Proxy<Store>(real, {
    get(target, name) {
      if (name === 'logAppend') {
        return (params: { items: readonly LogAppend[] }) => {
          flushes.push(params.items);
          return real.logAppend(params);
        };
      }
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  const engine = new Engine({ store, world });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 8 });
  const running = async (): Promise<Grant> => {
    await engine.push(TASK);
    const [grant] = await engine.claim({ worker, max: 1 });
    assert.ok(grant);
    return grant;
  };
  return { world, engine, other: new Engine({ store: real, world }), running, flushes };
}

const line = (seq: number, text = `line ${seq}`): LogEntry => ({ seq, at: 1, stream: 'stdout', text });
const textsOf = (lines: readonly LogLine[]): readonly string[] => lines.map(({ text }) => text);

/** Reads by itself; what it has got so far, and whether it is done. */
function follow(lines: AsyncIterable<LogLine>): { readonly got: string[]; readonly state: { done: boolean } } {
  const got: string[] = [];
  const state = { done: false };
  void (async () => {
    for await (const { attempt, seq } of lines) got.push(`${attempt}/${seq}`);
    state.done = true;
  })();
  return { got, state };
}

test('lines of an attempt can be read, from any line on', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  await engine.logs.append(grant, [line(1), line(2), line(3)]);
  assert.deepEqual(textsOf(await engine.logs.read(grant.task)), ['line 1', 'line 2', 'line 3']);
  assert.deepEqual(textsOf(await engine.logs.read(grant.task, { after: { attempt: 1, seq: 1 }, limit: 1 })), [
    'line 2',
  ]);
});

test('appends of one turn share one batch, and each caller learns of its own lease', async (t) => {
  const { engine, running, flushes } = await rig(t);
  const grant = await running();
  const answers = await Promise.allSettled([
    engine.logs.append(grant, [line(1)]),
    engine.logs.append({ task: grant.task, attempt: 7 }, [line(1)]),
    engine.logs.append(grant, [line(2)]),
  ]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(flushes.length, 1);
  assert.equal(await refusal(engine.logs.append({ task: 4711, attempt: 1 }, [line(1)])), 'LEASE_LOST');
});

test('an append and the settle that is called after it leave together, and both are kept', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  await Promise.all([engine.logs.append(grant, [line(1)]), engine.complete(grant)]);
  assert.equal((await engine.logs.read(grant.task)).length, 1);
  assert.equal(await refusal(engine.logs.append(grant, [line(2)])), 'LEASE_LOST');
});

test('an append of many megabytes goes in parts of about one', async (t) => {
  const { engine, running, flushes } = await rig(t);
  const grant = await running();
  const text = 'x'.repeat(60_000);
  await engine.logs.append(
    grant,
    Array.from({ length: 50 }, (_, i) => line(i + 1, text)),
  );
  assert.ok(flushes.length >= 3, `${flushes.length} flushes`);
  for (const items of flushes) {
    assert.ok(items.flatMap(({ entries }) => entries).reduce((sum, entry) => sum + entry.text.length, 0) <= 1_048_576);
  }
  assert.equal((await engine.logs.read(grant.task)).length, 50);
  await engine.logs.append(
    grant,
    Array.from({ length: 2500 }, (_, i) => line(i + 100)),
  );
  assert.deepEqual(Math.max(...flushes.flat().map(({ entries }) => entries.length)), 1000);
});

test('an empty append sends nothing', async (t) => {
  const { engine, running, flushes } = await rig(t);
  await engine.logs.append(await running(), []);
  assert.equal(flushes.length, 0);
});

test('characters that no store can keep are replaced, so that no line fails its task', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  await engine.logs.append(grant, [line(1, 'a\u0000b\ud800c'), line(2, '🚂')]);
  assert.deepEqual(textsOf(await engine.logs.read(grant.task)), ['a\ufffdb\ufffdc', '🚂']);
});

const BAD: readonly (readonly [string, unknown])[] = [
  ['no list', 'a line'],
  ['no entry', [null]],
  ['the number 0', [line(0)]],
  ['half a number', [line(1.5)]],
  ['an unknown stream', [{ ...line(1), stream: 'stdin' }]],
  ['a text that is none', [{ ...line(1), text: 5 }]],
  ['a time that is none', [{ ...line(1), at: Number.NaN }]],
];

test('entries of the wrong form are refused before anything is written', async (t) => {
  const { engine, running, flushes } = await rig(t);
  const grant = await running();
  for (const [what, entries] of BAD) {
    const call = engine.logs.append(grant, entries as readonly LogEntry[]);
    assert.equal(await refusal(call), 'INVALID_INPUT', what);
  }
  await engine.logs.append(grant, [line(1, 'x'.repeat(65_536))]);
  assert.equal(await refusal(engine.logs.append(grant, [line(2, 'x'.repeat(65_537))])), 'TOO_LARGE');
  assert.equal(await refusal(engine.logs.append(grant, [line(2, 'ü'.repeat(40_000))])), 'TOO_LARGE');
  assert.equal(flushes.length, 1);
});

test('bad positions and limits are refused', async (t) => {
  const { engine } = await rig(t);
  assert.equal(await refusal(engine.logs.read(1, { limit: 0 })), 'INVALID_INPUT');
  assert.equal(await refusal(engine.logs.read(1, { after: 3 as never })), 'INVALID_INPUT');
  assert.equal(await refusal(engine.logs.read(1, { after: { attempt: 1, seq: -1 } })), 'INVALID_INPUT');
  assert.equal(await refusal(engine.logs.read(1, { from: 1 } as never)), 'UNKNOWN_OPTION');
});

test('a follower gets the existing lines and then new ones, without any time passing', async (t) => {
  const { engine, running, world } = await rig(t);
  const grant = await running();
  await engine.logs.append(grant, [line(1)]);
  const { got, state } = follow(engine.logs.follow(grant.task));
  await world.settle();
  assert.deepEqual(got, ['1/1']);
  assert.equal(engine.waiting, true);
  await engine.logs.append(grant, [line(2), line(3)]);
  await world.settle();
  assert.deepEqual(got, ['1/1', '1/2', '1/3']);
  assert.equal(state.done, false);
});

test('a follower ends with its task, after the last line, and leaves nothing behind', async (t) => {
  const { engine, running, world } = await rig(t);
  const grant = await running();
  const { got, state } = follow(engine.logs.follow(grant.task));
  await world.settle();
  await Promise.all([engine.logs.append(grant, [line(1)]), engine.complete(grant)]);
  await world.settle();
  assert.deepEqual([got, state.done], [['1/1'], true]);
  assert.equal(engine.waiting, false);
  assert.deepEqual(world.waits, []);
});

test('a follower of a finished task reads all of its log, page after page, and ends', async (t) => {
  const { engine, running, world } = await rig(t);
  const grant = await running();
  await engine.logs.append(
    grant,
    Array.from({ length: 450 }, (_, i) => line(i + 1)),
  );
  await engine.complete(grant);
  const { got, state } = follow(engine.logs.follow(grant.task, { after: { attempt: 1, seq: 10 } }));
  await world.settle();
  assert.deepEqual([got.length, got[0], state.done], [440, '1/11', true]);
});

test('a follower goes on through retries, until the task really ends', async (t) => {
  const { engine, running, world } = await rig(t);
  const grant = await running();
  const { got, state } = follow(engine.logs.follow(grant.task));
  await engine.logs.append(grant, [line(1)]);
  await engine.release(grant);
  await world.settle();
  assert.equal(state.done, false);
  const [again] = await engine.claim({ worker: 1, max: 1 });
  assert.ok(again);
  await engine.logs.append(again, [line(1)]);
  await engine.fail(again, 'no', { giveUp: true });
  await world.settle();
  assert.deepEqual([got, state.done], [['1/1', '2/1'], true]);
});

test('lines of another process are seen after a hint, and without one after about a second', async (t) => {
  const { engine, other, running, world } = await rig(t);
  const grant = await running();
  const { got, state } = follow(engine.logs.follow(grant.task));
  await world.settle();
  await other.logs.append(grant, [line(1)]);
  await world.settle();
  assert.deepEqual(got, []);
  engine.hint();
  await world.settle();
  assert.deepEqual(got, ['1/1']);
  await other.logs.append(grant, [line(2)]);
  await world.advance(1000);
  assert.deepEqual(got, ['1/1', '1/2']);
  await other.complete(grant);
  await world.advance(1000);
  assert.equal(state.done, true);
});

test('two followers of one task and one of another do not disturb each other', async (t) => {
  const { engine, running, world } = await rig(t);
  const [one, two] = [await running(), await running()];
  const abort = new AbortController();
  const first = follow(engine.logs.follow(one.task, { signal: abort.signal }));
  const second = follow(engine.logs.follow(one.task));
  const third = follow(engine.logs.follow(two.task));
  await world.settle();
  abort.abort();
  await world.settle();
  assert.deepEqual([first.state.done, second.state.done], [true, false]);
  await engine.logs.append(one, [line(1)]);
  await world.settle();
  assert.deepEqual([first.got, second.got, third.got], [[], ['1/1'], []]);
  await engine.complete(one);
  await engine.cancelled(two);
  await world.settle();
  assert.deepEqual([second.state.done, third.state.done], [true, true]);
});

test('an unknown task cannot be followed', async (t) => {
  const { engine } = await rig(t);
  const next = (options?: never): Promise<unknown> => engine.logs.follow(4711, options)[Symbol.asyncIterator]().next();
  assert.equal(await refusal(next()), 'NOT_FOUND');
  assert.equal(await refusal(next({ from: 1 } as never)), 'UNKNOWN_OPTION');
});

/** The code of its refusal; undefined: it was not refused. */
const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (error: { readonly code: string }) => error.code,
  );

test('an attempt stores no more than its bound, whichever process its worker asks and however it numbers its lines', async (t) => {
  const { engine, other, running } = await rig(t);
  const grant = await running();
  const text = 'x'.repeat(60_000);
  const batch = (from: number): LogEntry[] => Array.from({ length: 10 }, (_, i) => line(from - i, text));
  let [refused, taken] = [0, 0];
  for (let i = 0; i < 60; i++) {
    const by = i % 2 === 0 ? engine : other;
    const answer = await codeOf(by.logs.append(grant, batch(100_000 - 10 * i)));
    if (answer === 'TOO_LARGE') refused++;
    else taken += 10 * logCost(text);
  }
  assert.ok(refused > 30, `${refused} of 60 were refused`);
  assert.ok(taken > 0.9 * MAX_LOG_BYTES && taken < MAX_LOG_BYTES + 2 * 1024 * 1024, `${taken} bytes were taken`);
  assert.equal(await codeOf(other.logs.append(grant, batch(50))), 'TOO_LARGE');
  const next = await running();
  assert.equal(
    await codeOf(engine.logs.append(next, batch(50))),
    undefined,
    'the log of another attempt has its own bound',
  );
});

test('a reader learns how many lines were dropped, and where', async (t) => {
  const { engine, running } = await rig(t);
  const grant = await running();
  await engine.logs.append(grant, [line(1), line(2), line(12), line(13)]);
  const dropped = (lines: readonly { readonly dropped?: number }[]): readonly unknown[] =>
    lines.map((one) => one.dropped);
  assert.deepEqual(dropped(await engine.logs.read(grant.task)), [undefined, undefined, 9, undefined]);
  const after = { attempt: 1, seq: 2 };
  assert.deepEqual(dropped(await engine.logs.read(grant.task, { after, limit: 1 })), [9]);
});
