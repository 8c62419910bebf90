import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault, isEngineError } from '../../core/errors.ts';
import type { StepInfo, StepPolicy } from './durable-context.ts';
import { codeOf, trial } from './durable-trial.test.ts';

test('after a crash between two steps only the rest runs, and what was remembered comes back', async (t) => {
  const it = await trial(t);
  const ran: string[] = [];
  const once = (name: string, attempt: number) => () => {
    ran.push(`${name} in ${attempt}`);
    return { name, attempt };
  };
  await it.serve({
    three: async (_, ctx) => {
      const results: unknown[] = [];
      for (const name of ['a', 'b', 'c']) results.push(await ctx.step(name, once(name, ctx.attempt)));
      return results;
    },
  });
  it.dieAfter = 'turn b#0';
  const { task } = await it.push('three');
  assert.deepEqual(ran, ['a in 1', 'b in 1']);
  await it.expire();
  assert.deepEqual(ran, ['a in 1', 'b in 1', 'c in 2']);
  assert.deepEqual(await it.result(task), [
    { name: 'a', attempt: 1 },
    { name: 'b', attempt: 1 },
    { name: 'c', attempt: 2 },
  ]);
  assert.equal(await it.brief(task), 'completed none 2/2');
});

test('a failed attempt does not take its steps with it', async (t) => {
  const it = await trial(t);
  let ran = 0;
  await it.serve({
    shaky: async (_, ctx) => {
      const n = await ctx.step('work', () => ++ran);
      if (ctx.attempt < 3) throw new Error('later');
      return n;
    },
  });
  const { task } = await it.push('shaky');
  await it.pass(10_000);
  assert.deepEqual([await it.brief(task), await it.result(task), ran], ['completed none 3/3', 1, 1]);
});

test('the n-th call with a name is the n-th in every attempt', async (t) => {
  const it = await trial(t);
  const ran: number[] = [];
  await it.serve({
    loop: async (_, ctx) => {
      const seen: number[] = [];
      for (let n = 0; n < 4; n++) {
        seen.push(
          await ctx.step('turn', () => {
            ran.push(n);
            return 10 * n + ctx.attempt;
          }),
        );
      }
      return seen;
    },
  });
  it.dieBefore = 'turn turn#2';
  const { task } = await it.push('loop');
  await it.expire();
  assert.deepEqual(ran, [0, 1, 2, 2, 3]);
  assert.deepEqual(await it.result(task), [1, 11, 22, 32]);
  assert.deepEqual(Object.keys(await it.remembered(task)), ['turn#0', 'turn#1', 'turn#2', 'turn#3']);
});

test('a value is what JSON makes of it, the first time too', async (t) => {
  const it = await trial(t);
  const seen: unknown[] = [];
  await it.serve({
    values: async (_, ctx) => {
      const date: string = await ctx.step('date', () => new Date(0));
      const some = await ctx.step('some', async () => ({ a: undefined, b: [1, undefined] }));
      const nothing: null = await ctx.step('nothing', () => {});
      seen.push([date, some, nothing]);
      if (ctx.attempt === 1) throw new Error('again');
    },
  });
  await it.push('values');
  await it.pass(5000);
  const expected = ['1970-01-01T00:00:00.000Z', { b: [1, null] }, null];
  assert.deepEqual(seen, [expected, expected]);
});

test('a value that cannot be stored is refused by the name of its step, and not remembered', async (t) => {
  const it = await trial(t);
  let message = '';
  await it.serve({
    bad: async (_, ctx) => {
      await ctx.step('big', () => 5n).catch((error: Error) => (message = error.message));
      return ctx.step('big', () => 5);
    },
  });
  const { task } = await it.push('bad');
  assert.match(message, /value of step big is not valid: a bigint cannot be stored/);
  assert.deepEqual(await it.remembered(task), { 'big#0': 5 });
});

test('what a step throws is not remembered; tried again in the same attempt it keeps its place', async (t) => {
  const it = await trial(t);
  let calls = 0;
  await it.serve({
    stubborn: async (_, ctx) => {
      for (;;) {
        try {
          return await ctx.step('call', () => {
            calls++;
            if (calls < 3) throw new Error('busy');
            return calls;
          });
        } catch {
          ctx.log('once more');
        }
      }
    },
  });
  const { task } = await it.push('stubborn');
  assert.deepEqual(await it.remembered(task), { 'call#0': 3 });
  assert.equal(await it.result(task), 3);
});

/** A payment whose record is lost: what the next attempt makes of it. */
async function crash(t: Parameters<typeof trial>[0], policy: StepPolicy) {
  const it = await trial(t);
  const calls: StepInfo[] = [];
  await it.serve({
    pay: (_, ctx) =>
      ctx.step(
        'pay',
        (step) => {
          calls.push(step);
          return calls.length;
        },
        { policy },
      ),
  });
  it.dieBefore = 'turn pay#0';
  const { task, id } = await it.push('pay');
  assert.equal(calls.length, 1);
  await it.expire();
  return { it, task, id, calls };
}

test('a crash between effect and record: by default the step runs again, with the same key', async (t) => {
  const { it, task, id, calls } = await crash(t, 'repeat');
  const info = { key: `${id}/pay#0`, again: false };
  assert.deepEqual(calls, [info, info]);
  assert.equal(await it.result(task), 2);
});

test('a crash between effect and record: an exact step does not run again, and ends the task', async (t) => {
  const { it, task, id, calls } = await crash(t, 'exact');
  assert.equal(calls.length, 1);
  assert.equal(await it.brief(task), 'failed gave_up 2/2');
  const error = (await it.result(task)) as { code: string; message: string; details: unknown };
  assert.equal(error.code, 'STEP_UNCERTAIN');
  assert.match(error.message, /The step pay#0 was begun/);
  assert.deepEqual(error.details, { step: 'pay#0', key: `${id}/pay#0` });
});

test('a crash between effect and record: a relaunched step is told that it was begun', async (t) => {
  const { it, task, id, calls } = await crash(t, 'relaunch');
  const key = `${id}/pay#0`;
  assert.deepEqual(calls, [
    { key, again: false },
    { key, again: true },
  ]);
  assert.equal(await it.result(task), 2);
});

test('a crash before an exact step has begun lets it run', async (t) => {
  const it = await trial(t);
  let calls = 0;
  await it.serve({ pay: (_, ctx) => ctx.step('pay', () => ++calls, { policy: 'exact' }) });
  it.dieBefore = 'turn pay#0!';
  const { task } = await it.push('pay');
  assert.equal(calls, 0);
  await it.expire();
  assert.deepEqual([calls, await it.result(task)], [1, 1]);
  assert.deepEqual(await it.remembered(task), { 'pay#0': 1, 'pay#0!': 2 });
});

test('a handler may deal with what is uncertain, and an exact step that threw is uncertain too', async (t) => {
  const it = await trial(t);
  await it.serve({
    pay: async (_, ctx) => {
      const pay = (): Promise<number> =>
        ctx.step(
          'pay',
          (): number => {
            throw new Error('timeout');
          },
          { policy: 'exact' },
        );
      await assert.rejects(pay(), /timeout/);
      try {
        await pay();
      } catch (error) {
        if (!isEngineError(error, 'STEP_UNCERTAIN')) throw error;
        return ctx.step('ask the bank', () => 'it was paid');
      }
    },
  });
  const { task } = await it.push('pay');
  assert.equal(await it.result(task), 'it was paid');
});

test('the same name twice at the same time is refused; others run side by side', async (t) => {
  const it = await trial(t);
  await it.serve({
    both: async (_, ctx) => {
      const same = [ctx.step('x', () => 1), ctx.step('x', () => 2)] as const;
      const other = ctx.step('y', () => 3);
      const [first, second, third] = await Promise.allSettled([...same, other]);
      assert.ok(first?.status === 'fulfilled' && third?.status === 'fulfilled');
      const error: unknown = second?.status === 'rejected' ? second.reason : undefined;
      assert.ok(isEngineError(error, 'INVALID_INPUT'));
      assert.match(`${error.message} ${error.hint}`, /step x .* under way already.* a name of its own/);
      return [first.value, third.value, await ctx.step('x', () => 4)];
    },
  });
  const { task } = await it.push('both');
  assert.deepEqual(await it.result(task), [1, 3, 4]);
});

test('nothing is remembered inside of a step', async (t) => {
  const it = await trial(t);
  await it.serve({
    nest: async (_, ctx) => {
      const inner = [
        () => ctx.step('in', () => 1),
        () => ctx.list('in').push(1),
        () => ctx.wait('in', { for: 10 }),
        () => ctx.spawn({ queue: 'work', handler: 'in' }),
      ];
      const codes: string[] = [];
      const over = Promise.withResolvers<void>();
      let later: Promise<unknown> | undefined;
      await ctx.step('out', async () => {
        for (const one of inner) codes.push(await codeOf(one()));
        later = over.promise.then(() => ctx.step('after', () => 'fine'));
      });
      codes.push('out is over');
      over.resolve();
      return [codes, await later];
    },
  });
  const { task } = await it.push('nest');
  const refused = 'INVALID_INPUT';
  assert.deepEqual(await it.result(task), [[refused, refused, refused, refused, 'out is over'], 'fine']);
});

test('bad names, policies and options are refused', async (t) => {
  const it = await trial(t);
  await it.serve({
    bad: async (_, ctx) => [
      await codeOf(ctx.step('', () => 1)),
      await codeOf(ctx.step('x'.repeat(151), () => 1)),
      await codeOf(ctx.step('wait:x', () => 1)),
      await codeOf(ctx.step(7 as never, () => 1)),
      await codeOf(ctx.step('x', () => 1, { policy: 'never' as never })),
      await codeOf(ctx.step('x', () => 1, { polisy: 'exact' } as never)),
      await codeOf(ctx.list('a\n').push(1)),
      await codeOf(ctx.list('l').push(1n)),
    ],
  });
  const { task } = await it.push('bad');
  const refused = 'INVALID_INPUT';
  assert.deepEqual(await it.result(task), [
    refused,
    refused,
    refused,
    refused,
    refused,
    'UNKNOWN_OPTION',
    refused,
    refused,
  ]);
  assert.deepEqual(await it.remembered(task), {});
});

test('an attempt that was overtaken remembers nothing, and stops', async (t) => {
  const it = await trial(t);
  const gate = Promise.withResolvers<void>();
  const codes: string[] = [];
  let aborted: unknown;
  await it.serve({
    slow: async (_, ctx) => {
      if (ctx.attempt > 1) return ctx.step('x', () => 'fresh');
      await gate.promise;
      codes.push(await codeOf(ctx.step('x', () => 'stale')), await codeOf(ctx.step('y', () => 'stale')));
      codes.push(await codeOf(ctx.spawn({ queue: 'work', handler: 'child' })));
      aborted = (ctx.signal.reason as { why?: string } | undefined)?.why;
    },
  });
  const { task } = await it.push('slow');
  // Reaped, though its worker lives and does not know it yet.
  await it.engine.release({ task, attempt: 1 }, { delayMs: 60_000 });
  gate.resolve();
  await it.pass(100);
  assert.deepEqual(codes, ['LEASE_LOST', 'AbortError', 'AbortError']);
  assert.equal(aborted, 'lost');
  assert.deepEqual(await it.remembered(task), {});
  await it.stage(60_001);
  await it.pass(10_000);
  assert.deepEqual(await it.remembered(task), { 'x#0': 'fresh' });
});

test('faults of the store are waited out: what was done is not done again', async (t) => {
  const it = await trial(t);
  let ran = 0;
  await it.serve({ work: (_, ctx) => ctx.step('x', () => ++ran) });
  it.faults.push(fault('STORE_BUSY'), fault('TIMEOUT'), fault('STORE_FULL'));
  const { task } = await it.push('work');
  await it.pass(10_000);
  assert.deepEqual([await it.brief(task), await it.result(task), ran], ['completed none 1/1', 1, 1]);
  assert.equal(it.calls.length, 4);
});

test('a task that was told to stop begins no step, and keeps what it has done', async (t) => {
  const it = await trial(t);
  const gate = Promise.withResolvers<void>();
  const ran: string[] = [];
  await it.serve({
    work: async (_, ctx) => {
      await ctx.step('a', async () => {
        await gate.promise;
        ran.push('a');
      });
      await ctx.step('b', () => void ran.push('b'));
    },
  });
  const { task } = await it.push('work');
  await it.engine.cancel(task);
  await it.pass(100);
  gate.resolve();
  await it.pass(100);
  assert.deepEqual(ran, ['a']);
  assert.equal(await it.brief(task), 'cancelled requested 1/1');
  assert.deepEqual(await it.remembered(task), { 'a#0': null });
});

test('a handler that remembers nothing costs nothing', async (t) => {
  const it = await trial(t);
  await it.serve({ plain: () => 1, uses: (_, ctx) => ctx.step('x', () => 1) });
  await it.push('plain');
  assert.deepEqual(it.calls, []);
  await it.push('uses');
  assert.deepEqual(it.calls, ['turn x#0'], 'a first attempt has nothing to read');
});

test('a list grows by what is added to it: 100 messages of 2 kB take 200 kB', async (t) => {
  const it = await trial(t);
  const lengths: number[] = [];
  await it.serve({
    talk: async (_, ctx) => {
      const messages = ctx.list<{ n: number; text: string }>('messages');
      for (let n = 0; n < 100; n++) await messages.push({ n, text: 'x'.repeat(2000) });
      lengths.push(messages.length);
      assert.equal(messages, ctx.list('messages'));
      assert.deepEqual(
        messages.values().map(({ n }) => n),
        Array.from({ length: 100 }, (_unused, n) => n),
      );
      if (ctx.attempt === 1) throw new Error('again');
    },
  });
  const { task } = await it.push('talk');
  await it.pass(5000);
  assert.deepEqual(lengths, [100, 100]);
  const stored = await it.engine.journal(task);
  assert.equal(stored.length, 100);
  const bytes = stored.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);
  assert.ok(bytes > 200_000 && bytes < 210_000, `${bytes} bytes`);
  assert.ok(stored.every(({ attempt }) => attempt === 1));
});

test('the i-th push of an attempt gives back what an earlier one has put there', async (t) => {
  const it = await trial(t);
  const seen: unknown[] = [];
  await it.serve({
    talk: async (_, ctx) => {
      const list = ctx.list<string>('l');
      assert.deepEqual([list.length, list.values()], [0, []]);
      const pushed = [await list.push(`a${ctx.attempt}`), await list.push(`b${ctx.attempt}`)];
      if (ctx.attempt === 1) throw new Error('again');
      pushed.push(await list.push(`c${ctx.attempt}`));
      seen.push(pushed, list.values());
    },
  });
  await it.push('talk');
  await it.pass(5000);
  assert.deepEqual(seen, [
    ['a1', 'b1', 'c2'],
    ['a1', 'b1', 'c2'],
  ]);
});

test('elements that are added at the same time stand in the order of the calls', async (t) => {
  const it = await trial(t);
  await it.serve({
    talk: async (_, ctx) => {
      const list = ctx.list<number>('l');
      const pushes = [1, 2, 3].map((n) => list.push(n));
      assert.equal(await codeOf(list.push(Number.NaN)), 'INVALID_INPUT');
      pushes.push(list.push(4));
      await Promise.all(pushes);
      return list.values();
    },
  });
  const { task } = await it.push('talk');
  assert.deepEqual(await it.result(task), [1, 2, 3, 4]);
  assert.deepEqual(Object.keys(await it.remembered(task)), ['l[0]', 'l[1]', 'l[2]', 'l[3]']);
});

test('a call that nobody waits for ends nobody', async (t) => {
  const it = await trial(t);
  const gate = Promise.withResolvers<void>();
  await it.serve({
    careless: (_, ctx) => {
      void ctx.step('x', () => gate.promise);
      void ctx.step('', () => 1);
      return 'done';
    },
  });
  const { task } = await it.push('careless');
  gate.resolve();
  await it.pass(100);
  assert.equal(await it.brief(task), 'completed none 1/1');
});
