import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readExecution } from '../../flow/agent/execution.ts';
import type { AgentResult } from '../../flow/agent/result.ts';
import type { ValueMap } from '../../flow/expression/values.ts';
import { StateError } from '../../flow/machine/scopes.ts';
import { executeAgent } from './execution-types.ts';
import { virtualWorld } from './test-world.ts';

interface Given {
  readonly execution: ValueMap;
  readonly answers: readonly (AgentResult | Error)[];
  readonly metadata?: ValueMap;
  readonly random?: number;
  readonly signal?: AbortSignal;
}

/** Runs it on answers that are given one after the other, the last one for ever. */
async function executed({
  execution,
  answers,
  metadata = {},
  random = 0.5,
  signal = new AbortController().signal,
}: Given) {
  const { world, waited } = virtualWorld(random);
  let calls = 0;
  const run = (): Promise<AgentResult> => {
    const answer = answers[Math.min(calls++, answers.length - 1)];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? {});
  };
  const result = await executeAgent(readExecution(execution), run, { world, metadata, signal }).catch(
    (error: unknown) => error as Error,
  );
  return { result, calls, waited };
}

const busy: AgentResult = { error: { code: 'rate_limit', type: 'E', message: 'busy', retryable: true } };
const bad: AgentResult = { error: { code: 'auth_error', type: 'E', message: 'no key', retryable: false } };
const good: AgentResult = { content: 'yes' };

describe('retries', () => {
  test('the third attempt succeeds, after the first two delays', async () => {
    const { result, calls, waited } = await executed({
      execution: { type: 'retry' },
      answers: [busy, new Error('x'), good],
    });
    assert.deepEqual([result, calls, waited], [good, 3, [2000, 8000]]);
  });

  test('what is thrown is always tried again, and the last of it is thrown', async () => {
    const thrown = new TypeError('broken');
    const { result, calls, waited } = await executed({ execution: { type: 'retry' }, answers: [thrown] });
    assert.deepEqual([result, calls, waited], [thrown, 5, [2000, 8000, 16_000, 35_000]]);
  });

  test('an error that does not pass stops at once', async () => {
    const { result, calls } = await executed({ execution: { type: 'retry' }, answers: [busy, bad, good] });
    assert.deepEqual([result, calls], [bad, 2]);
  });

  test('when all attempts are used up, the last error is the result', async () => {
    const { result, calls } = await executed({ execution: { type: 'retry', backoffs: [1] }, answers: [busy] });
    assert.deepEqual([result, calls], [busy, 2]);
  });

  test('what the endpoint asks for makes a delay longer, and jitter moves it', async () => {
    const limited = { ...busy, rate_limit: { limited: true, retry_after: 5 } };
    const execution = { type: 'retry', backoffs: [2, 8] };
    assert.deepEqual((await executed({ execution, answers: [limited] })).waited, [5000, 8000]);
    assert.deepEqual((await executed({ execution, answers: [limited], random: 0 })).waited, [4500, 7200]);
    assert.deepEqual(
      (await executed({ execution: { ...execution, jitter: 0 }, answers: [limited], random: 0 })).waited,
      [5000, 8000],
    );
  });

  test('no delays are one attempt', async () => {
    assert.equal((await executed({ execution: { type: 'retry', backoffs: [] }, answers: [busy] })).calls, 1);
  });

  test('an empty answer is tried again only where the state says so', async () => {
    assert.equal((await executed({ execution: { type: 'retry' }, answers: [{}, good] })).calls, 1);
    const again = await executed({
      execution: { type: 'retry', retry_on_empty: true },
      answers: [{ content: '' }, good],
    });
    assert.deepEqual([again.result, again.calls], [good, 2]);
    const never = await executed({ execution: { type: 'retry', retry_on_empty: true, backoffs: [] }, answers: [{}] });
    assert.match(JSON.stringify(never.result), /the answer is empty/);
  });

  test('what can never succeed is not tried again', async () => {
    const { result, calls } = await executed({
      execution: { type: 'retry' },
      answers: [new StateError('TemplateError', 'user: no')],
    });
    assert.deepEqual([(result as Error).message, calls], ['user: no', 1]);
  });

  test('a run that is told to stop is not tried again', async () => {
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    const { result, calls } = await executed({
      execution: { type: 'retry' },
      answers: [new Error('x')],
      signal: stop.signal,
    });
    assert.deepEqual([(result as Error).message, calls], ['enough', 1]);
  });
});

describe('samples', () => {
  test('the answers of those that succeeded, in their order', async () => {
    const { result, calls } = await executed({
      execution: { type: 'parallel', n_samples: 4 },
      answers: [{ content: 'a' }, new Error('x'), bad, { output: { b: 1 } }],
    });
    assert.equal(calls, 4);
    assert.deepEqual((result as AgentResult).output, { results: [{ content: 'a' }, { b: 1 }], count: 2 });
  });

  test('if none succeeded, it is the error of the last', async () => {
    const execution = { type: 'parallel' };
    assert.deepEqual((await executed({ execution, answers: [bad] })).result, bad);
    assert.equal(((await executed({ execution, answers: [new Error('x')] })).result as Error).message, 'x');
  });
});

describe('votes', () => {
  const says = (content: string): AgentResult => ({ content });
  const execution = { type: 'mdap_voting', k_margin: 2, max_candidates: 6 };

  test('calls go on until a candidate is ahead by the margin, and bad answers do not count', async () => {
    const { result, calls } = await executed({
      execution,
      answers: [says('n=1'), says('what?'), new Error('x'), says('n=2'), says('so n=1')],
      metadata: { parsing: { n: { pattern: 'n=(\\d)', type: 'int' } } },
    });
    assert.equal(calls, 5);
    assert.deepEqual(result, { output: { n: 1 }, metadata: { samples: 5, red_flags: { format_error: 1 } } });
  });

  test('after the last call the majority wins; nobody, if nobody voted', async () => {
    const split = await executed({
      execution: { ...execution, k_margin: 5, max_candidates: 3 },
      answers: [says('a'), says('b'), says('b')],
    });
    assert.deepEqual((split.result as AgentResult).output, { content: 'b' });
    const none = await executed({ execution, answers: [new Error('x')] });
    assert.deepEqual([(none.result as AgentResult).output, none.calls], [undefined, 6]);
  });
});
