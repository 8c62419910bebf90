import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readExecution, retryDelayMs, withMetadata } from './execution.ts';
import { rateLimitOf } from './rate-limit.ts';
import { payloadOf, resultOf, totalCost } from './result.ts';
import { readToolLoop } from './tool-loop-options.ts';
import { answerRules, Ballot, candidateOf } from './voting.ts';

describe('voting', () => {
  const rules = answerRules(
    {
      parsing: { move: { pattern: 'move = (\\[.*?\\])', type: 'json' }, n: { pattern: 'n=(\\d+)', type: 'int' } },
      validation: { properties: { n: { maximum: 5 } } },
    },
    20,
  );

  test('an answer is parsed by the patterns of the agent', () => {
    assert.deepEqual(candidateOf(rules, { content: 'move = [1,\n 2] and n=3' }), { move: [1, 2], n: 3 });
  });

  test('an answer of the wrong form, value or length does not count', () => {
    assert.equal(candidateOf(rules, { content: 'n=3' }), 'format_error');
    assert.equal(candidateOf(rules, { content: 'move = [1 n=3]' }), 'format_error');
    assert.equal(candidateOf(rules, { content: 'move = [1] n=6' }), 'validation_failed');
    assert.equal(candidateOf(rules, { content: `move = [1] n=3 ${'x'.repeat(100)}` }), 'length_exceeded');
  });

  test('without patterns the output votes, then the content', () => {
    const none = answerRules({}, undefined);
    assert.deepEqual(candidateOf(none, { output: { a: 1 }, content: 'x' }), { a: 1 });
    assert.deepEqual(candidateOf(none, { content: 'x' }), { content: 'x' });
    assert.equal(candidateOf(none, {}), 'format_error');
  });

  test('a pattern that cannot be read says which', () => {
    assert.throws(() => answerRules({ parsing: { a: { pattern: '(' } } }, undefined), /metadata\.parsing\.a\.pattern/);
  });

  test('the first with so many votes as the margin wins, whatever the order of its keys', () => {
    const ballot = new Ballot(2);
    assert.equal(ballot.vote({ a: 1, b: 2 }), undefined);
    assert.equal(ballot.vote('format_error'), undefined);
    assert.equal(ballot.vote({ a: 2 }), undefined);
    assert.deepEqual(ballot.vote({ b: 2, a: 1 }), { a: 1, b: 2 });
    assert.deepEqual(ballot.flags, { format_error: 1 });
  });

  test('without a winner the majority leads, and of equals the first', () => {
    const ballot = new Ballot(9);
    assert.equal(ballot.leader, undefined);
    for (const vote of ['x', 'y', 'y', 'x', 'z']) ballot.vote({ vote });
    assert.deepEqual(ballot.leader, { vote: 'x' });
  });
});

describe('the execution of an agent', () => {
  test('has the published defaults', () => {
    assert.deepEqual(readExecution(undefined), { type: 'default' });
    assert.deepEqual(readExecution({ type: 'retry' }), {
      type: 'retry',
      backoffs: [2, 8, 16, 35],
      jitter: 0.1,
      retryOnEmpty: false,
    });
    assert.deepEqual(readExecution({ type: 'parallel' }), { type: 'parallel', samples: 3 });
    assert.deepEqual(readExecution({ type: 'mdap_voting' }), {
      type: 'mdap_voting',
      margin: 3,
      candidates: 10,
      maxResponseTokens: undefined,
    });
  });

  test('the metadata of the agent goes before the state', () => {
    const voting = withMetadata(readExecution({ type: 'mdap_voting', k_margin: 2 }), {
      mdap: { k_margin: 5, max_candidates: 0 },
    });
    assert.deepEqual(voting, { type: 'mdap_voting', margin: 5, candidates: 10, maxResponseTokens: undefined });
  });

  test('nonsense is refused by its name', () => {
    assert.throws(
      () => readExecution({ type: 'often' }),
      /expected default, retry, parallel or mdap_voting, found "often"/,
    );
    assert.throws(() => readExecution({ type: 'retry', backoffs: [-1] }), /execution\.backoffs/);
    assert.throws(() => readExecution({ type: 'parallel', n_samples: 1e9 }), /at most 100/);
    assert.throws(() => readExecution({ type: 'parallel', n_samples: 1.5 }), /whole/);
  });

  test('a delay swings by the jitter, and an endpoint can only make it longer', () => {
    const retry = readExecution({ type: 'retry', backoffs: [2, 8] }) as Parameters<typeof retryDelayMs>[0];
    assert.deepEqual(
      [0, 0.5, 1].map((random) => retryDelayMs(retry, 0, undefined, random)),
      [1800, 2000, 2200],
    );
    assert.equal(retryDelayMs(retry, 1, 3, 0.5), 8000);
    assert.equal(retryDelayMs(retry, 1, 20, 0.5), 20_000);
  });
});

describe('what an agent gives', () => {
  test('a text is content, a map output, and a result itself', () => {
    assert.deepEqual(resultOf('hi'), { content: 'hi' });
    assert.deepEqual(resultOf({ a: 1 }), { output: { a: 1 } });
    assert.deepEqual(resultOf(null), {});
    assert.deepEqual(
      resultOf({ result: 'done', session_id: 's' }),
      { output: { result: 'done', session_id: 's' }, session_id: 's' },
      'a session alone makes no result',
    );
    assert.deepEqual(
      resultOf({
        content: 'x',
        usage: { input_tokens: 3, output_tokens: -1, calls: 2, cost: { total: 0.5 } },
        metadata: { session_id: 's1' },
        tool_calls: [
          { id: 'c1', function: { name: 'f', arguments: '{"a": 1}' } },
          { id: 'c2', tool: 'g', arguments: 'no' },
          3,
        ],
        error: { message: 'bad', retryable: 1 },
        rate_limit: { limited: true, retry_after: 3, windows: [{ name: 'r', remaining: 0 }, 1] },
      }),
      {
        content: 'x',
        usage: { input_tokens: 3, api_calls: 2 },
        cost: { total: 0.5 },
        metadata: { session_id: 's1' },
        finish_reason: 'error',
        error: { code: 'server_error', type: 'AgentError', message: 'bad', retryable: false },
        rate_limit: { limited: true, retry_after: 3, windows: [{ name: 'r', resource: 'requests', remaining: 0 }] },
        tool_calls: [
          { id: 'c1', name: 'f', arguments: { a: 1 } },
          { id: 'c2', name: 'g', arguments: 'no' },
        ],
        session_id: 's1',
      },
    );
  });

  test('a state sees the output, else the content, else nothing', () => {
    assert.deepEqual(
      [payloadOf({ output: { a: 1 }, content: 'x' }), payloadOf({ content: 'x' }), payloadOf({})],
      [{ a: 1 }, { content: 'x' }, {}],
    );
    assert.equal(totalCost(resultOf({ cost: { input: 1, output: 0.5, cache_read: 0.25 } })), 1.75);
    assert.deepEqual([totalCost({}), totalCost({ cost: 2 }), totalCost({ cost: { total: 3 } })], [0, 2, 3]);
  });
});

describe('limits in headers', () => {
  test('of three families of endpoints', () => {
    assert.deepEqual(
      rateLimitOf(
        {
          'x-ratelimit-remaining-requests': '0',
          'x-ratelimit-limit-requests': '60',
          'x-ratelimit-reset-requests': '1m0.5s',
          'x-ratelimit-remaining-tokens-day': '9',
          'anthropic-ratelimit-tokens-remaining': '5',
          'anthropic-ratelimit-tokens-reset': '1970-01-01T00:01:00Z',
          'x-ratelimit-remaining-tokens': 'many',
        },
        undefined,
      ),
      {
        limited: true,
        windows: [
          { name: 'tokens_per_day', resource: 'tokens', remaining: 9, resets_in: 86_400 },
          { name: 'requests', resource: 'requests', remaining: 0, limit: 60, resets_in: 60.5 },
          { name: 'tokens', resource: 'tokens', remaining: 5, reset_at: 60 },
        ],
      },
    );
    assert.equal(rateLimitOf({}, undefined), undefined);
    assert.deepEqual(rateLimitOf({}, 7), { limited: true, retry_after: 7 });
  });
});

describe('the bounds of a tool loop', () => {
  test('versions 2 and 3 have defaults, version 4 has none', () => {
    const { allowed: _, denied: __, policies: ___, ...bounds } = readToolLoop(true, '2.2.2');
    assert.deepEqual(bounds, {
      maxToolCalls: 50,
      maxTurns: 20,
      toolTimeoutMs: 30_000,
      totalTimeoutMs: 600_000,
      maxCost: 0,
      uncertain: 'fail',
      once: false,
    });
    assert.deepEqual(
      [readToolLoop(true, '4.2.1').maxTurns, readToolLoop({ max_turns: '3' }, '4.2.1').maxTurns],
      [0, 3],
    );
  });

  test('policies come from the settings of the machine, and the loop goes before them', () => {
    const { policies } = readToolLoop({ policies: { b: 'RELAUNCH' } }, '4', {
      tool_policies: { a: 'REPLAY_IDEMPOTENT', b: 'exact' },
    });
    assert.deepEqual(
      [...policies],
      [
        ['a', 'repeat'],
        ['b', 'relaunch'],
      ],
    );
  });

  test('nonsense is refused by its name', () => {
    assert.throws(() => readToolLoop({ max_turns: 'many' }, '4'), /tool_loop\.max_turns/);
    assert.throws(() => readToolLoop({ denied_tools: [1] }, '4'), /tool_loop\.denied_tools/);
    assert.throws(
      () => readToolLoop({ policies: { a: 'never' } }, '4'),
      /policies\.a: expected repeat, exact or relaunch/,
    );
  });
});
