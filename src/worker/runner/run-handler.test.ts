import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { isEngineError } from '../../core/errors.ts';
import type { TaskContext } from '../define/definition.ts';
import { done, giveUp, retryAfter } from '../define/outcome.ts';
import { task } from '../define/task.ts';
import { type ContextParts, runHandler } from './run-handler.ts';
import type { RunRequest } from './runner.ts';

const JOB: RunRequest = {
  task: 7,
  attempt: 4,
  id: 'task_x',
  queue: 'work',
  handler: 'work',
  payload: '{"n":1}',
  tries: 2,
  maxTries: 3,
  alone: false,
};
const PARTS: ContextParts = { signal: new AbortController().signal, log: () => {}, progress: () => {} };

test('a handler is given its input and what it should know of its attempt', async () => {
  let seen: { input: unknown; ctx: TaskContext } | undefined;
  const said: unknown[] = [];
  const parts = {
    ...PARTS,
    log: (text: string) => void said.push(text),
    progress: (value: unknown) => void said.push(value),
  };
  const work = task('work', {
    run: (input, ctx) => {
      seen = { input, ctx };
      ctx.log('hello');
      ctx.progress(0.5);
      return 'done';
    },
  });
  assert.deepEqual(await runHandler(work, JOB, parts), { kind: 'done', result: 'done' });
  assert.ok(seen);
  const { id, queue, attempt, fence, tries, maxAttempts, signal } = seen.ctx;
  assert.deepEqual(
    [seen.input, id, queue, attempt, fence, tries, maxAttempts],
    [{ n: 1 }, 'task_x', 'work', 4, 4, 2, 3],
  );
  assert.equal(signal, PARTS.signal);
  assert.deepEqual(said, ['hello', 0.5]);
});

test('the signal is made only for a handler that looks at it', async () => {
  let asked = 0;
  const parts: ContextParts = {
    ...PARTS,
    get signal() {
      asked++;
      return PARTS.signal;
    },
  };
  await runHandler(task('work', { run: () => 1 }), JOB, parts);
  assert.equal(asked, 0);
  await runHandler(task('work', { run: (_, ctx) => ctx.signal.aborted }), JOB, parts);
  assert.equal(asked, 1);
});

test('the schema makes the input of the run, and refuses for good what it refuses', async () => {
  const work = task('work', { input: z.object({ n: z.number().transform((n) => n * 2) }), run: ({ n }) => n });
  assert.deepEqual(await runHandler(work, JOB, PARTS), { kind: 'done', result: 2 });
  const refused = await runHandler(work, { ...JOB, payload: '{"n":"x"}' }, PARTS);
  assert.ok(refused.kind === 'giveUp' && isEngineError(refused.error, 'INVALID_INPUT'));
  const broken = await runHandler(work, { ...JOB, payload: '{' }, PARTS);
  assert.ok(broken.kind === 'giveUp' && broken.error instanceof SyntaxError);
});

test('what a handler says about its own end is how the attempt ended', async () => {
  const ended = (value: unknown) => runHandler(task('work', { run: () => value }), JOB, PARTS);
  assert.deepEqual(await ended(undefined), { kind: 'done', result: undefined });
  assert.deepEqual(await ended(done(5)), { kind: 'done', result: 5 });
  assert.deepEqual(await ended(Promise.resolve(done(5))), { kind: 'done', result: 5 });
  assert.deepEqual(await ended(retryAfter('3s', 'busy')), { kind: 'retryAfter', delayMs: 3000, reason: 'busy' });
  assert.deepEqual(await ended(giveUp('no')), { kind: 'giveUp', error: 'no' });
});

test('whatever is thrown, at once or later, is how the attempt ended', async () => {
  const hostile = new Proxy(
    {},
    {
      has() {
        throw new Error('do not look');
      },
    },
  );
  for (const thrown of [new Error('x'), null, undefined, 'text', hostile]) {
    const now = await runHandler(
      task('work', {
        run: () => {
          throw thrown;
        },
      }),
      JOB,
      PARTS,
    );
    assert.ok(now.kind === 'failed' && Object.is(now.error, thrown));
    const later = await runHandler(task('work', { run: () => Promise.reject(thrown) }), JOB, PARTS);
    assert.ok(later.kind === 'failed' && Object.is(later.error, thrown));
  }
  const value = await runHandler(task('work', { run: () => hostile }), JOB, PARTS);
  assert.equal(value.kind, 'failed');
});
