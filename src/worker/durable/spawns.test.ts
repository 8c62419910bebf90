import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { task } from '../define/task.ts';
import { codeOf, trial } from './durable-trial.test.ts';

const double = task('double', {
  queue: 'sums',
  input: z.object({ n: z.number() }),
  maxAttempts: 7,
  timeout: '5m',
  run: ({ n }) => 2 * n,
});

test('a child is a task like any other, with what its definition says', async (t) => {
  const it = await trial(t);
  await it.serve(
    {
      parent: async (_, ctx) => {
        const one = await ctx.spawn(double, { n: 21 });
        const two = await ctx.spawn(double, { n: 4 }, { priority: 5, maxAttempts: 2, name: 'second' });
        const { value } = await ctx.wait('both', { children: [one, two] });
        const sum: number = value.reduce((total, { result }) => total + (result ?? 0), 0);
        return [one.id, two.id, sum];
      },
    },
    [double],
  );
  const { task: parent } = await it.push('parent');
  await it.pass(1000);
  const [one, two, sum] = (await it.result(parent)) as [string, string, number];
  assert.equal(sum, 50);
  const records = await Promise.all([one, two].map((id) => it.engine.get(it.engine.parseId(id))));
  assert.deepEqual(
    records.map((record) => [record?.queue, record?.handler, record?.maxTries, record?.priority]),
    [
      ['sums', 'double', 7, 0],
      ['sums', 'double', 2, 5],
    ],
  );
  const keys = Object.keys(await it.remembered(parent));
  assert.deepEqual(keys.sort(), ['spawn:double#0', 'spawn:second#0']);
});

for (const [when, die] of [
  ['before the turn that bears it', 'dieBefore'],
  ['after the turn that bore it', 'dieAfter'],
] as const) {
  test(`a crash ${when} makes no second child`, async (t) => {
    const it = await trial(t);
    await it.serve({
      parent: async (_, ctx) => (await ctx.spawn({ queue: 'children', handler: 'work' }, { of: ctx.attempt })).id,
    });
    it[die] = 'turn spawn:work#0';
    const { task: parent } = await it.push('parent');
    await it.expire();
    assert.equal(await it.brief(parent), 'completed none 2/2');
    const children = await it.engine.list({ queue: 'children', limit: 10 });
    assert.deepEqual(
      children.map((child) => it.engine.idOf(child)),
      [await it.result(parent)],
    );
  });
}

test('children that are started at the same time are told apart by the order of the calls', async (t) => {
  const it = await trial(t);
  const seen: unknown[] = [];
  await it.serve({
    parent: async (_, ctx) => {
      const inputs = Array.from({ length: 20 }, (_unused, n) => n);
      const children = await Promise.all(inputs.map((n) => ctx.spawn({ queue: 'children', handler: 'work' }, n)));
      seen.push(children.map(({ id }) => id));
      if (ctx.attempt === 1) throw new Error('again');
    },
  });
  await it.push('parent');
  await it.pass(5000);
  assert.equal(seen.length, 2);
  assert.deepEqual(seen[0], seen[1]);
  const children = await it.engine.list({ queue: 'children', limit: 100 });
  assert.equal(children.length, 20);
  const byId = new Map(children.map((child) => [it.engine.idOf(child), child.payload]));
  assert.deepEqual(
    (seen[0] as string[]).map((id) => byId.get(id)),
    Array.from({ length: 20 }, (_unused, n) => String(n)),
  );
});

test('what its schema refuses, and what nobody knows, is refused, and no child is made', async (t) => {
  const it = await trial(t);
  await it.serve({
    parent: async (_, ctx) => [
      await codeOf(ctx.spawn(double, { n: 'many' } as never)),
      await codeOf(ctx.spawn(double, { n: 1 }, { speed: 'high' } as never)),
      await codeOf(ctx.spawn({ queue: 'NO', handler: 'work' })),
      await codeOf(ctx.spawn({ queue: 'q', handler: 'work' }, 1n)),
      (await ctx.spawn({ queue: 'q', handler: 'work' }, 1)).task > 0,
    ],
  });
  const { task: parent } = await it.push('parent');
  const refused = 'INVALID_INPUT';
  assert.deepEqual(await it.result(parent), [refused, 'UNKNOWN_OPTION', refused, refused, true]);
  assert.deepEqual(Object.keys(await it.remembered(parent)), ['spawn:work#0']);
});

test('a task of a graph reads what those before it have come to', async (t) => {
  const it = await trial(t);
  await it.serve({
    good: () => ({ n: 1 }),
    bad: () => {
      throw new Error('no');
    },
    last: (_, ctx) => ctx.dependencies(),
  });
  const base = { queue: 'work', maxAttempts: 1 };
  const pushed = await it.engine.pushGraph([
    { ...base, handler: 'good', name: 'a' },
    { ...base, handler: 'bad', name: 'b' },
    { ...base, handler: 'last', after: ['a', { on: 'b', optional: true }] },
  ]);
  await it.pass(1000);
  const [a, b, last] = pushed;
  const results = (await it.result(last?.task as number)) as Record<string, unknown>[];
  assert.deepEqual(
    results.map(({ id, state, result, error, optional }) => [id, state, result, (error as Error)?.message, optional]),
    [
      [a?.id, 'completed', { n: 1 }, undefined, false],
      [b?.id, 'failed', undefined, 'no', true],
    ],
  );
});
