import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { isEngineError } from '../../core/errors.ts';
import { done, giveUp, outcomeOf, retryAfter } from './outcome.ts';
import type { InputOf, ResultOf } from './pushable-task.ts';
import { jsonSchemaOf, parseInput, type StandardSchema } from './schema.ts';
import { task } from './task.ts';

/** Compiles only when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(answer: Same<A, B>): void => assert.equal(answer, true);

test('the types go from the schema to the handler and from the handler to the result', () => {
  const resize = task('resize', {
    input: z.object({ url: z.string(), width: z.coerce.number<string>() }),
    run: async (input) => {
      same<typeof input, { url: string; width: number }>(true);
      return { size: input.width };
    },
  });
  same<InputOf<typeof resize>, { url: string; width: string }>(true);
  same<ResultOf<typeof resize>, { size: number }>(true);
});

test('outcome values leave the type of the result alone', () => {
  const careful = task('careful', {
    input: z.number(),
    run: (n) => (n > 1 ? done('yes') : n > 0 ? retryAfter('1m') : giveUp('no')),
  });
  same<ResultOf<typeof careful>, string>(true);
});

test('without a schema the input is unknown', () => {
  const plain = task('plain', { run: (input) => input });
  same<InputOf<typeof plain>, unknown>(true);
  same<ResultOf<typeof plain>, unknown>(true);
});

test('a result is typed as it comes back from its JSON', () => {
  const stamped = task('stamped', {
    run: () => ({ at: new Date(), tags: ['a'] as const, nested: { skip: () => 1, n: 1 } }),
  });
  same<ResultOf<typeof stamped>, { at: string; tags: readonly ['a']; nested: { n: number } }>(true);
});

for (const [vendor, schema] of [
  ['zod', z.object({ to: z.string(), times: z.number().default(1) })],
  ['valibot', v.object({ to: v.string(), times: v.optional(v.number(), 1) })],
  ['arktype', type({ to: 'string', times: 'number = 1' })],
] as const) {
  test(`a schema of ${vendor} fills in what is missing and names the place of what is wrong`, async () => {
    assert.deepEqual(await parseInput(schema, { to: 'a' }, 'mail'), { to: 'a', times: 1 });
    await assert.rejects(parseInput(schema, { to: 'a', times: 'x' }, 'mail'), (error) => {
      assert.ok(isEngineError(error, 'INVALID_INPUT'));
      assert.match(error.message, /^The input of mail is not valid: times/);
      return true;
    });
  });
}

test('a schema says what it takes as JSON Schema, where its library can', () => {
  const of = (schema: StandardSchema): unknown => JSON.parse(jsonSchemaOf(schema) ?? 'null');
  const said = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  assert.deepEqual(of(z.object({ to: z.string() })), { $schema, ...said });
  assert.deepEqual(of(type({ to: 'string' })), { $schema, ...said });
  // The schema of the input counts for a form: defaults are optional there, and transforms do not show.
  const given = of(z.object({ times: z.number().default(1).transform(String) })) as { required?: unknown };
  assert.equal(given.required, undefined);
  for (const silent of [
    v.object({}),
    z.object({ at: z.date() }),
    z.enum(
      Array(4000)
        .fill(0)
        .map((_, i) => `word-${i}`),
    ),
  ]) {
    assert.equal(of(silent), null);
  }
  assert.equal(jsonSchemaOf(undefined), undefined);
});

test('a schema that checks by a promise is waited for', async () => {
  const slow = z.string().refine(async (text) => text !== 'taken', 'is taken');
  assert.equal(await parseInput(slow, 'free', 'name'), 'free');
  await assert.rejects(parseInput(slow, 'taken', 'name'), /is taken/);
});

test('a definition is checked when it is made, and says what is wrong', () => {
  const run = (): void => {};
  for (const [options, code, says] of [
    [{ run, timout: '1s' }, 'UNKNOWN_OPTION', /There is no option timout/],
    [{}, 'INVALID_INPUT', /run must be a function/],
    [{ run, input: {} }, 'INVALID_INPUT', /Standard Schema/],
    [{ run, isolation: 'thread' }, 'INVALID_INPUT', /isolation is inline or process, not "thread"/],
    [{ run, maxAttempts: 0 }, 'INVALID_INPUT', /maxAttempts/],
    [{ run, module: './x.ts' }, 'INVALID_INPUT', /import\.meta\.url/],
    [{ run, timeout: 'soon' }, 'INVALID_INPUT', /timeout/],
    [{ run, waitTimeout: -1 }, 'INVALID_INPUT', /waitTimeout/],
    [{ run, retry: { base: 1 } }, 'INVALID_INPUT', /retry/],
    [{ run, queue: '' }, 'INVALID_INPUT', /queue/],
  ] as const) {
    assert.throws(
      () => task('t', options as never),
      (error) => {
        assert.ok(isEngineError(error, code), String(error));
        assert.match(error.message, says);
        return true;
      },
    );
  }
  assert.throws(() => task('', { run }), /handler name/);
});

test('a task may have the name of any handler; one that is no name of a queue needs a queue', () => {
  const run = (): void => {};
  assert.equal(task('discord/discord_send', { run, queue: 'discord' }).name, 'discord/discord_send');
  assert.throws(() => task('discord/discord_send', { run }), /queue name .*"discord\/discord_send"/);
});

test('the queue is the name unless another one is given, and run keeps its own object', async () => {
  const counter = task('count', {
    run() {
      return typeof this.run;
    },
  });
  assert.equal(counter.queue, 'count');
  assert.equal(await counter.run(null, {} as never), 'function');
  assert.equal(task('count', { queue: 'numbers', run: () => 1 }).queue, 'numbers');
});

test('a returned value means done; the others say what they mean', () => {
  assert.deepEqual(outcomeOf(5), { kind: 'done', result: 5 });
  assert.deepEqual(outcomeOf(undefined), { kind: 'done', result: undefined });
  assert.deepEqual(outcomeOf(done({ a: 1 })), { kind: 'done', result: { a: 1 } });
  assert.deepEqual(outcomeOf(retryAfter('2s', 'busy')), { kind: 'retryAfter', delayMs: 2000, reason: 'busy' });
  assert.deepEqual(outcomeOf(giveUp('no')), { kind: 'giveUp', error: 'no' });
  assert.deepEqual(outcomeOf({ kind: 'giveUp' }), { kind: 'done', result: { kind: 'giveUp' } }, 'only by its brand');
});
