import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { codeOf, type Handler, type Trial, trial } from './durable-trial.test.ts';

const CHILD = { queue: 'children', handler: 'work' };

/** The turns that were asked for, by what they said. */
const turnsOf = ({ calls }: Trial): readonly string[] => calls.filter((call) => call.startsWith('turn '));

test('steps that end at the same time share a turn, and those of the next round the next', async (t) => {
  const it = await trial(t);
  await it.serve({
    side: async (_, ctx) => {
      const round = (names: readonly string[]) => Promise.all(names.map((name) => ctx.step(name, () => name)));
      return [await round(['a', 'b', 'c']), await round(['d', 'e'])];
    },
  });
  const { task } = await it.push('side');
  assert.deepEqual(await it.result(task), [
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
  assert.deepEqual(it.calls, ['turn a#0 b#0 c#0', 'turn d#0 e#0']);
});

test('what is added while a turn is under way goes into the next one, all of it', async (t) => {
  const it = await trial(t);
  const gate = Promise.withResolvers<void>();
  it.meanwhile = async (word) => (word === 'turn a#0' ? gate.promise : undefined);
  await it.serve({
    side: async (_, ctx) => {
      const list = ctx.list<number>('l');
      const all = [ctx.step('a', () => 1)];
      it.world.timers.after(1, () => {
        for (const name of ['b', 'c']) all.push(ctx.step(name, () => 1));
        all.push(list.push(1), list.push(2));
      });
      it.world.timers.after(5, () => gate.resolve());
      await gate.promise;
      return (await Promise.all(all)).length;
    },
  });
  const { task } = await it.push('side');
  assert.equal(await it.result(task), 5);
  assert.equal(it.calls.length, 2);
  assert.deepEqual(it.calls[1]?.split(' ').toSorted(), ['b#0', 'c#0', 'l[0]', 'l[1]', 'turn']);
});

test('children that are started at the same time are born in one turn', async (t) => {
  const it = await trial(t);
  await it.serve({
    parent: async (_, ctx) => (await Promise.all([1, 2, 3].map((n) => ctx.spawn(CHILD, n)))).length,
  });
  await it.push('parent');
  assert.deepEqual(it.calls, ['turn spawn:work#0 spawn:work#1 spawn:work#2']);
  assert.equal((await it.engine.list({ queue: 'children', limit: 10 })).length, 3);
});

test('a child that is refused fails alone: those that went with it are born, once', async (t) => {
  const it = await trial(t);
  await it.engine.push({ ...CHILD, input: 'another', unique: 'taken' });
  await it.serve({
    parent: async (_, ctx) => {
      const [step, ...codes] = await Promise.all([
        ctx.step('s', () => 1),
        codeOf(ctx.spawn(CHILD, 1)),
        codeOf(ctx.spawn(CHILD, 2, { unique: 'taken' })),
        codeOf(ctx.spawn(CHILD, 3)),
      ]);
      return [step, codes];
    },
  });
  const { task } = await it.push('parent');
  assert.deepEqual(await it.result(task), [1, ['none', 'UNIQUE_CONFLICT', 'none']]);
  const children = await it.engine.list({ queue: 'children', limit: 10 });
  assert.deepEqual(children.map(({ payload }) => payload).toSorted(), ['"another"', '1', '3']);
  assert.deepEqual(Object.keys(await it.remembered(task)).toSorted(), ['s#0', 'spawn:work#0', 'spawn:work#2']);
});

test('what a wait came to has no commit of its own, and is stored with the next value', async (t) => {
  const it = await trial(t);
  await it.serve({
    hear: async (_, ctx) => {
      await ctx.wait('one', { signal: 'words' });
      await ctx.wait('two', { signal: 'words' });
      return ctx.step('use', () => 'used');
    },
  });
  for (const word of ['a', 'b']) await it.signal('words', word);
  const { task } = await it.push('hear');
  assert.deepEqual(it.calls, ['turn park one#0', 'turn wait:one#0 park two#0', 'turn wait:two#0 use#0']);
  assert.deepEqual(await it.remembered(task), {
    'wait:one#0': { outcome: 'woken', value: 'a' },
    'wait:two#0': { outcome: 'woken', value: 'b' },
    'use#0': 'used',
  });
});

test('which children had not ended is stored before anything else happens', async (t) => {
  const it = await trial(t);
  await it.serve({
    parent: async (_, ctx) => {
      const children = [await ctx.spawn(CHILD, 1), await ctx.spawn(CHILD, 2)];
      const { value } = await ctx.wait('first', { children, any: true });
      return value.map(({ state }) => state);
    },
  });
  const { task } = await it.push('parent');
  const [child] = await it.engine.list({ queue: 'children', limit: 1 });
  await it.engine.cancel(child?.task ?? 0);
  await it.pass(1000);
  assert.deepEqual(((await it.result(task)) as string[]).toSorted(), ['cancelled', 'ready']);
  assert.equal(turnsOf(it).at(-1), 'turn wait:first#0');
});

test('a turn that finds its task asked to stop ends the attempt, with what it has done and without a child', async (t) => {
  const it = await trial(t);
  const after: string[] = [];
  const worker = await it.serve({
    parent: async (_, ctx) => {
      const [, spawned] = await Promise.all([ctx.step('s', () => 1), codeOf(ctx.spawn(CHILD))]);
      after.push(spawned, await codeOf(ctx.step('more', () => 1)));
    },
  });
  it.meanwhile = async () => {
    it.meanwhile = undefined;
    for (const { task } of await it.engine.list({ queue: 'work', limit: 1 })) await it.engine.cancel(task);
  };
  const { task } = await it.push('parent');
  await it.pass(100);
  assert.equal(await it.brief(task), 'cancelled requested 1/1');
  assert.deepEqual(after, ['ParkedError', 'ParkedError']);
  assert.deepEqual(await it.remembered(task), { 's#0': 1 });
  assert.deepEqual(await it.engine.list({ queue: 'children', limit: 10 }), []);
  assert.deepEqual([worker.stats.settled.cancelled, worker.stats.settled.lost, it.warnings], [1, 0, []]);
});

// A crash anywhere

const RESULT = ['a', [1, 2], [10, 20], 'word', 'z'];

const HANDLERS: Readonly<Record<string, Handler>> = {
  all: async (_, ctx) => {
    const a = await ctx.step('a', () => 'a');
    const list = ctx.list<number>('l');
    await Promise.all([list.push(1), list.push(2)]);
    const kids = await Promise.all([1, 2].map((n) => ctx.spawn({ queue: 'work', handler: 'kid' }, n)));
    const { value: word } = await ctx.wait('word', { signal: 'words' });
    const { value } = await ctx.wait('kids', { children: kids });
    const z = await ctx.step('z', () => 'z', { policy: 'relaunch' });
    return [a, list.values(), value.map(({ result }) => result), word, z];
  },
  kid: (n) => 10 * Number(n),
};

/** Runs it to its end, whatever becomes of its attempts. Answers the turns that it took. */
async function toTheEnd(t: TestContext, how: 'dieBefore' | 'dieAfter', word?: string): Promise<readonly string[]> {
  const it = await trial(t);
  await it.serve(HANDLERS);
  it[how] = word;
  const { task } = await it.push('all', { maxAttempts: 20 });
  await it.signal('words', 'word');
  await it.pass(1000);
  for (let n = 0; n < 5 && (await it.engine.get(task))?.state !== 'completed'; n++) await it.expire();
  assert.deepEqual(await it.result(task), RESULT, `${how} ${word}`);
  assert.equal(it[how], undefined, `it died: ${how} ${word}`);
  const keys = Object.keys(await it.remembered(task)).toSorted();
  assert.deepEqual(keys, [
    'a#0',
    'l[0]',
    'l[1]',
    'spawn:kid#0',
    'spawn:kid#1',
    'wait:kids#0',
    'wait:word#0',
    'z#0',
    'z#0!',
  ]);
  const all = await it.engine.list({ queue: 'work', limit: 100 });
  assert.equal(all.filter(({ handler }) => handler === 'kid').length, 2);
  return turnsOf(it);
}

test('a crash before or after any of its commits changes nothing of what a handler comes to', async (t) => {
  const turns = new Set(await toTheEnd(t, 'dieAfter'));
  assert.ok(turns.size >= 6, [...turns].join(', '));
  for (const how of ['dieBefore', 'dieAfter'] as const) {
    for (const word of turns) await t.test(`${how} ${word}`, async (inner) => void (await toTheEnd(inner, how, word)));
  }
});
