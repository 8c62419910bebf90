import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Child } from './durable-context.ts';
import { codeOf, trial } from './durable-trial.test.ts';

const MINUTE = 60_000;

test('a wait for time gives slot, lease and try back, and goes on after it', async (t) => {
  const it = await trial(t);
  const seen: string[] = [];
  const worker = await it.serve({
    nap: async (_, ctx) => {
      const before = await ctx.step('before', () => ctx.attempt);
      try {
        const { outcome } = await ctx.wait('nap', { for: '1m' });
        return [before, outcome, await ctx.step('after', () => ctx.attempt)];
      } catch (error) {
        const { why } = ctx.signal.reason as { why: string };
        seen.push(`${(error as Error).name} ${why}`);
        throw error;
      }
    },
  });
  const { task } = await it.push('nap', { maxAttempts: 1 });
  assert.deepEqual(seen, ['ParkedError parked']);
  assert.equal(await it.brief(task), 'waiting none 0/1');
  assert.deepEqual([worker.stats.running, worker.stats.settled.parked], [0, 1]);
  await it.stage(MINUTE - 1000);
  assert.equal(await it.brief(task), 'waiting none 0/1');
  await it.stage(1000);
  assert.equal(await it.brief(task), 'completed none 1/2');
  assert.deepEqual(await it.result(task), [1, 'woken', 2]);
  assert.deepEqual(await it.remembered(task), { 'before#0': 1, 'wait:nap#0': { outcome: 'woken' }, 'after#0': 2 });
  assert.deepEqual(it.warnings, []);
});

test('a wait until a calendar time, which may have passed', async (t) => {
  const it = await trial(t);
  await it.serve({
    nap: async (input, ctx) => {
      await ctx.wait('nap', { until: input as number });
      return it.world.clock.wall();
    },
  });
  const now = it.world.clock.wall();
  const later = await it.push('nap', { input: now + MINUTE });
  const past = await it.push('nap', { input: now - MINUTE });
  await it.stage(10);
  assert.equal(await it.brief(past.task), 'completed none 1/2');
  assert.equal(await it.brief(later.task), 'waiting none 0/1');
  await it.stage(MINUTE);
  assert.ok(((await it.result(later.task)) as number) >= now + MINUTE);
});

test('a signal that came before is taken without parking', async (t) => {
  const it = await trial(t);
  await it.serve({ hear: async (_, ctx) => [await ctx.wait('word', { signal: 'words' }), ctx.attempt] });
  await it.signal('words', { say: 'hello' });
  const { task } = await it.push('hear');
  assert.deepEqual(await it.result(task), [{ outcome: 'woken', value: { say: 'hello' } }, 1]);
});

test('a signal that comes later wakes the task, and a value of null is one', async (t) => {
  const it = await trial(t);
  await it.serve({ hear: async (_, ctx) => [await ctx.wait('word', { signal: 'words', timeout: '1d' }), ctx.attempt] });
  const { task } = await it.push('hear');
  assert.equal(await it.brief(task), 'waiting none 0/1');
  await it.signal('words', null);
  assert.deepEqual(await it.result(task), [{ outcome: 'woken', value: null }, 2]);
});

test('each wake-up is delivered once: two waits on one channel get two signals, in order', async (t) => {
  const it = await trial(t);
  await it.serve({
    hear: async (_, ctx) => {
      const heard: unknown[] = [];
      for (let n = 0; n < 3; n++) heard.push((await ctx.wait('word', { signal: 'words' })).value);
      return heard;
    },
  });
  await it.signal('words', 'one');
  const { task } = await it.push('hear');
  assert.equal(await it.brief(task), 'waiting none 0/1');
  await it.signal('words', 'two');
  assert.equal(await it.brief(task), 'waiting none 0/2');
  await it.signal('words', 'three');
  assert.deepEqual(await it.result(task), ['one', 'two', 'three']);
});

// The outcome goes with the next turn: before that only the store has it.
for (const [when, attempts, die] of [
  ['the task was woken', 3, 'dieBefore'],
  ['the signal was taken', 2, 'dieBefore'],
  ['the task that was woken has remembered it', 3, 'dieAfter'],
  ['the signal that was taken was remembered', 2, 'dieAfter'],
] as const) {
  test(`a signal survives a crash right after ${when}`, async (t) => {
    const it = await trial(t);
    let used = 0;
    await it.serve({
      hear: async (_, ctx) => {
        const { value } = await ctx.wait('word', { signal: 'words' });
        return [value, await ctx.step('use', () => ++used)];
      },
    });
    it[die] = 'turn wait:word#0 use#0';
    if (attempts === 2) await it.signal('words', 'once');
    const { task } = await it.push('hear');
    if (attempts === 3) await it.signal('words', 'once');
    assert.match(await it.brief(task), /^running/);
    await it.expire();
    assert.deepEqual(await it.result(task), ['once', die === 'dieAfter' ? 1 : 2]);
    assert.match(await it.brief(task), new RegExp(`completed none ./${attempts}`));
  });
}

test('what a wait came to is not lost when the next attempt comes to another wait first', async (t) => {
  const it = await trial(t);
  await it.serve({
    fickle: async (_, ctx) => {
      if (ctx.attempt === 2) await ctx.wait('b', { for: 1000 });
      return (await ctx.wait('a', { signal: 'a' })).value;
    },
  });
  const { task } = await it.push('fickle');
  await it.signal('a', 'kept');
  assert.equal(await it.brief(task), 'waiting none 0/2');
  await it.stage(1000);
  assert.equal(await it.result(task), 'kept');
});

test('a wait that has taken too long says so, and what comes later is for the next', async (t) => {
  const it = await trial(t);
  await it.serve({
    hear: async (_, ctx) => [
      await ctx.wait('word', { signal: 'words', timeout: '1m' }),
      await ctx.wait('word', { signal: 'words', timeout: '1m' }),
    ],
  });
  const { task } = await it.push('hear');
  await it.stage(MINUTE);
  assert.equal(await it.brief(task), 'waiting none 0/2');
  await it.signal('words', 'late');
  assert.deepEqual(await it.result(task), [{ outcome: 'timed_out' }, { outcome: 'woken', value: 'late' }]);
});

test('an approval has a form that people see, a channel of its own, and comes back as their decision', async (t) => {
  const it = await trial(t);
  const approval = { title: 'Publish?', actions: ['yes', 'no'], context: { words: 800 }, form: { type: 'string' } };
  await it.serve({ publish: (_, ctx) => ctx.wait('review', { approval, timeout: '2d' }) });
  const { task } = await it.push('publish');
  const [open] = await it.engine.waits.open();
  assert.equal(open?.task, task);
  assert.equal(open.key, 'review#0');
  assert.equal(open.channel, `approval:${task}:review#0`);
  assert.deepEqual(JSON.parse(open.form ?? ''), approval);
  await it.decide(open.channel, { action: 'yes', by: 'ada' });
  assert.deepEqual(await it.result(task), { outcome: 'woken', value: { action: 'yes', by: 'ada' } });
});

test('children: all of them, in the order in which they were named, however they ended', async (t) => {
  const it = await trial(t);
  await it.serve({
    parent: async (_, ctx) => {
      const good = await ctx.spawn({ queue: 'work', handler: 'good' }, 1);
      const bad = await ctx.spawn({ queue: 'work', handler: 'bad' }, 2, { maxAttempts: 1 });
      const late = await ctx.spawn({ queue: 'elsewhere', handler: 'late' }, 3);
      return ctx.wait('all', { children: [late, good.id, bad.task] });
    },
    good: (input) => ({ got: input }),
    bad: () => {
      throw new Error('no');
    },
  });
  const { task } = await it.push('parent');
  await it.pass(1000);
  assert.equal(await it.brief(task), 'waiting none 0/1');
  const late = await it.engine.list({ states: ['ready'], limit: 1 });
  await it.engine.cancel(late[0]?.task as number);
  await it.pass(1000);
  const { outcome, value } = (await it.result(task)) as { outcome: string; value: Record<string, unknown>[] };
  assert.equal(outcome, 'woken');
  assert.deepEqual(
    value.map(({ state, result, error }) => [state, result, (error as Error | undefined)?.message]),
    [
      ['cancelled', undefined, undefined],
      ['completed', { got: 1 }, undefined],
      ['failed', undefined, 'no'],
    ],
  );
  assert.ok(value.every(({ id }) => String(id).startsWith('task_')));
});

test('children: the first that ends is enough, and a wait for none or for the unknown is over at once', async (t) => {
  const it = await trial(t);
  await it.serve({
    parent: async (_, ctx) => {
      const children: Child[] = [];
      for (const queue of ['a', 'b']) children.push(await ctx.spawn({ queue, handler: 'other' }));
      const none = await ctx.wait('none', { children: [] });
      const unknown = await ctx.wait('unknown', { children: [4711] });
      const first = await ctx.wait('first', { children, any: true });
      return [none, unknown, first.value.map(({ state }) => state), ctx.attempt];
    },
  });
  const { task } = await it.push('parent');
  const [, b] = (await it.engine.list({ states: ['ready'], limit: 5 })).toReversed();
  await it.engine.cancel(b?.task as number);
  await it.pass(1000);
  assert.deepEqual(await it.result(task), [
    { outcome: 'woken', value: [] },
    { outcome: 'woken', value: [{ id: '4711', state: 'gone' }] },
    ['ready', 'cancelled'],
    2,
  ]);
});

test('children that take too long: the wait is over, and tells how each of them stands, the same in each attempt', async (t) => {
  const it = await trial(t);
  const seen: unknown[] = [];
  await it.serve({
    parent: async (_, ctx) => {
      const child = await ctx.spawn({ queue: 'elsewhere', handler: 'late' });
      const { outcome, value } = await ctx.wait('child', { children: [child], timeout: '1m' });
      seen.push([outcome, value.map(({ state }) => state)]);
      await it.engine.cancel(child.task);
      if (ctx.attempt === 2) throw new Error('again');
    },
  });
  await it.push('parent');
  await it.stage(MINUTE);
  await it.pass(1000);
  assert.deepEqual(seen, [
    ['timed_out', ['ready']],
    ['timed_out', ['ready']],
  ]);
});

test('results of children that are too large to be written down twice are read again', async (t) => {
  const it = await trial(t);
  const sizes: number[] = [];
  await it.serve({
    parent: async (_, ctx) => {
      const children = await Promise.all([1, 2, 3].map((n) => ctx.spawn({ queue: 'work', handler: 'large' }, n)));
      const { value } = await ctx.wait('all', { children });
      sizes.push(...value.map(({ result }) => String(result).length));
      if (sizes.length === 3) throw new Error('again');
    },
    large: (n) => 'x'.repeat(200_000 + Number(n)),
  });
  const { task } = await it.push('parent');
  await it.pass(5000);
  assert.deepEqual(sizes, [200_001, 200_002, 200_003, 200_001, 200_002, 200_003]);
  const stored = await it.engine.journal(task);
  assert.ok(stored.every(({ value }) => (value?.length ?? 0) < 1000));
});

test('whatever a handler does with the error of a park, the task waits', async (t) => {
  const it = await trial(t);
  const after: string[] = [];
  await it.serve({
    swallow: async (_, ctx) => {
      try {
        return (await ctx.wait('word', { signal: 'words' })).value;
      } catch {
        after.push(await codeOf(ctx.step('compensate', () => after.push('compensated'))));
        after.push(await codeOf(ctx.list('l').push(1)), await codeOf(ctx.spawn({ queue: 'q', handler: 'h' })));
        after.push(await codeOf(ctx.wait('other', { for: 1 })));
        return 'not the end';
      }
    },
    replace: async (_, ctx) => {
      try {
        return (await ctx.wait('word', { signal: 'words' })).value;
      } catch {
        throw new TypeError('not the end either');
      }
    },
    forget: (_, ctx) => {
      ctx.wait('word', { signal: 'words' }).then(
        ({ value }) => after.push(String(value)),
        () => {},
      );
      return ctx.attempt === 1 ? 'not the end' : 'the end';
    },
  });
  const { task } = await it.push('swallow');
  assert.deepEqual(after, ['ParkedError', 'ParkedError', 'ParkedError', 'ParkedError']);
  const others = [(await it.push('replace')).task, (await it.push('forget')).task];
  for (const one of [task, ...others]) assert.equal(await it.brief(one), 'waiting none 0/1');
  for (const word of ['a', 'b', 'c']) await it.signal('words', word);
  assert.deepEqual(
    [await it.result(task), await it.result(others[0] as number), await it.result(others[1] as number)],
    ['a', 'b', 'the end'],
  );
  assert.equal(after.at(-1), 'c');
});

test('a parked task that is cancelled ends, and run again it waits again', async (t) => {
  const it = await trial(t);
  await it.serve({
    nap: async (_, ctx) => {
      const { outcome } = await ctx.wait('word', { signal: 'words', timeout: '1m' });
      return outcome;
    },
  });
  const { task } = await it.push('nap');
  await it.engine.cancel(task);
  assert.equal(await it.brief(task), 'cancelled requested 0/1');
  await it.pass(MINUTE / 2);
  await it.engine.retry(task);
  await it.pass(10);
  assert.match(await it.brief(task), /^waiting none .\/2/);
  await it.stage(MINUTE);
  assert.deepEqual([await it.result(task), (await it.engine.get(task))?.attempt], ['timed_out', 3]);
});

test('a task that something else has woken waits for the rest of its time', async (t) => {
  const it = await trial(t);
  await it.serve({
    parent: async (_, ctx) => {
      const child = await ctx.spawn({ queue: 'elsewhere', handler: 'child' });
      return (await ctx.wait('child', { children: [child], timeout: '1m' })).outcome;
    },
  });
  const { task } = await it.push('parent');
  const [child] = await it.engine.list({ queue: 'elsewhere', limit: 1 });
  assert.ok(child);
  await it.pass(MINUTE / 2);
  // Its end wakes the parent; before the parent runs, an operator runs the child again.
  await it.engine.pause('work');
  await it.engine.cancel(child.task);
  await it.engine.retry(child.task);
  await it.engine.resume('work');
  await it.pass(10);
  assert.equal(await it.brief(task), 'waiting none 0/2');
  await it.stage(MINUTE / 2);
  assert.equal(await it.result(task), 'timed_out');
});

test('a task that was asked to stop ends when it wants to wait', async (t) => {
  const it = await trial(t);
  const gate = Promise.withResolvers<void>();
  const worker = await it.serve({
    deaf: async (_, ctx) => {
      await gate.promise;
      await ctx.wait('word', { signal: 'words' });
    },
  });
  const { task } = await it.push('deaf');
  await it.engine.cancel(task);
  gate.resolve();
  await it.pass(100);
  assert.equal(await it.brief(task), 'cancelled requested 1/1');
  assert.deepEqual([worker.stats.settled.cancelled, worker.stats.settled.parked], [1, 0]);
  assert.deepEqual(it.warnings, []);
});

test('an attempt that was overtaken cannot wait', async (t) => {
  const it = await trial(t);
  const gate = Promise.withResolvers<void>();
  let code = '';
  await it.serve({
    slow: async (_, ctx) => {
      if (ctx.attempt > 1) return 'fresh';
      await gate.promise;
      code = await codeOf(ctx.wait('word', { signal: 'words' }));
    },
  });
  const { task } = await it.push('slow');
  await it.engine.release({ task, attempt: 1 }, { delayMs: 60_000 });
  gate.resolve();
  await it.pass(100);
  assert.equal(code, 'LEASE_LOST');
  assert.equal(await it.brief(task), 'scheduled none 0/1');
});

test('an attempt that is out of time cannot wait its way out of it', async (t) => {
  const it = await trial(t);
  await it.serve({
    late: async (_, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      await ctx.wait('word', { signal: 'words' });
    },
  });
  const { task } = await it.push('late', { timeout: 1000, maxAttempts: 1 });
  await it.pass(5000);
  assert.equal(await it.brief(task), 'failed exhausted 1/1');
  assert.equal(((await it.result(task)) as { code: string }).code, 'RUN_TIMEOUT');
});

test('waits at the same time take turns, and a step beside a wait is remembered before the task parks', async (t) => {
  const it = await trial(t);
  const ran: string[] = [];
  await it.serve({
    both: async (_, ctx) => {
      const gate = Promise.withResolvers<void>();
      const all = Promise.all([
        ctx.step('s', async () => {
          ran.push('s');
          await gate.promise;
          return 's';
        }),
        ctx.wait('a', { signal: 'a' }),
        ctx.wait('b', { signal: 'b' }),
      ]);
      it.world.timers.after(5, () => gate.resolve());
      const [s, a, b] = await all;
      return [s, a.value, b.value, ctx.attempt];
    },
  });
  const { task } = await it.push('both');
  assert.equal(await it.brief(task), 'waiting none 0/1');
  assert.deepEqual(await it.remembered(task), { 's#0': 's' });
  await it.signal('b', 2);
  await it.signal('a', 1);
  assert.deepEqual(await it.result(task), ['s', 1, 2, 2]);
  assert.deepEqual(ran, ['s']);
});

test('what a task has said before it parks is kept, and what it says after it is not', async (t) => {
  const it = await trial(t);
  await it.serve({
    talk: async (_, ctx) => {
      ctx.log(`before ${ctx.attempt}`);
      try {
        await ctx.wait('word', { signal: 'words' });
      } finally {
        ctx.log(`after ${ctx.attempt}`);
      }
    },
  });
  const { task } = await it.push('talk');
  await it.signal('words', 1);
  assert.deepEqual(await it.log(task), ['before 1', 'before 2', 'after 2']);
});

test('a handler that runs on after it parked holds its slot for the time of a stop, and is in nobody’s way', async (t) => {
  const it = await trial(t);
  const never = new Promise<never>(() => {});
  const stopped: unknown[] = [];
  const worker = await it.serve({
    hang: async (_, ctx) => {
      if (ctx.attempt > 1) {
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
        stopped.push((ctx.signal.reason as { why: string }).why);
        return;
      }
      await ctx.wait('word', { signal: 'words' }).catch(() => never);
    },
  });
  const { task } = await it.push('hang');
  assert.equal(worker.stats.running, 1);
  await it.signal('words', 1);
  assert.equal(await it.brief(task), 'running none 1/2');
  await it.engine.cancel(task);
  await it.pass(100);
  assert.deepEqual(stopped, ['cancelled'], 'the newer attempt is the one that is told');
  assert.equal(await it.brief(task), 'cancelled requested 1/2');
  await it.pass(10_000);
  assert.deepEqual([worker.stats.running, worker.stats.settled.parked], [0, 1]);
});

test('a park whose answer is lost is asked for again', async (t) => {
  const it = await trial(t);
  await it.serve({ hear: async (_, ctx) => (await ctx.wait('word', { signal: 'words' })).value });
  it.faults.push(new Error('not a fault of the store'));
  const broken = await it.push('hear', { maxAttempts: 1 });
  assert.equal(await it.brief(broken.task), 'failed exhausted 1/1');
  const { fault } = await import('../../core/errors.ts');
  it.faults.push(fault('TIMEOUT'), fault('STORE_UNAVAILABLE'));
  const { task } = await it.push('hear');
  await it.pass(5000);
  assert.equal(await it.brief(task), 'waiting none 0/1');
});

test('what is no wait is refused', async (t) => {
  const it = await trial(t);
  await it.serve({
    bad: async (_, ctx) => {
      const codes: string[] = [];
      const bad = [
        undefined,
        {},
        { for: '1m', until: 5 },
        { for: 'soon' },
        { until: 'tomorrow' },
        { signal: '' },
        { signal: 'a', timeout: -1 },
        { signal: 'a', times: 2 },
        { approval: { title: '' } },
        { approval: { title: 'x', actions: [] } },
        { approval: { title: 'x', colour: 'red' } },
        { children: 'all' },
        { children: [{}] },
        { children: ['task_nonsense'] },
        { children: [1], any: 'yes' },
      ];
      for (const what of bad) codes.push(await codeOf(ctx.wait('w', what as never)));
      return codes;
    },
  });
  const { task } = await it.push('bad');
  const refused = 'INVALID_INPUT';
  const [unknown, id] = ['UNKNOWN_OPTION', 'INVALID_ID'];
  assert.deepEqual(await it.result(task), [
    ...Array.from({ length: 7 }, () => refused),
    unknown,
    refused,
    refused,
    unknown,
    refused,
    refused,
    id,
    refused,
  ]);
});
