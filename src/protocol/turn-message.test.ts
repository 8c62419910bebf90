import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../core/errors.ts';
import { WorkerRequest } from './frames.ts';
import type { TurnEntry, TurnRequest, TurnThen } from './link.ts';
import { messageOf, turnOf } from './turn-message.ts';

const LEASE = { task: 1, attempt: 1, token: 'AAAAAAAAAAAAAAAAAAAAAA' };
const ON: TurnThen = { go: 'on' };

/** As a node reads it. */
const asked = (message: object): unknown => WorkerRequest.parse({ type: 'task_turn', n: 1, lease: LEASE, ...message });
const isMessage = (message: object): boolean =>
  WorkerRequest.safeParse({ type: 'task_turn', n: 1, lease: LEASE, ...message }).success;

/** Over the wire and back. */
function over(turn: TurnRequest): TurnRequest {
  const text = JSON.stringify(messageOf(turn));
  return turnOf(asked(JSON.parse(text) as object) as Parameters<typeof turnOf>[0], JSON.parse);
}

const code = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    return isEngineError(error) ? error.code : String((error as Error).name);
  }
  return 'none';
};

const CHILD: TurnEntry = {
  key: 'spawn:c#0',
  kind: 'child',
  child: {
    queue: 'q',
    handler: 'h',
    input: { deep: ['ü', null, 1.5] },
    priority: 3,
    delay: '1m',
    maxAttempts: 2,
    retry: { baseMs: 5 },
    timeout: 1000,
    unique: { key: 'u', window: '1h' },
    limits: ['api'],
    reuse: true,
  },
  after: [{ on: 7 }, { on: 'task_x', optional: true }, { on: { child: 'other' } }],
  afterFailure: 'run',
};

test('a turn comes over a wire as it was said, whatever it writes and however it goes on', () => {
  const entries: readonly TurnEntry[] = [
    { key: 'a#0', kind: 'value', value: { n: 1 }, began: 5, usage: { tokens: 7 } },
    { key: 'l[0]', kind: 'element', value: 'ü' },
    { key: 'a#0!', kind: 'mark', value: 2 },
    { key: 'wait:w#0', kind: 'wait', value: { outcome: 'woken' } },
    CHILD,
    { key: 'plain', kind: 'child', child: { queue: 'q', handler: 'h' } },
    { key: 's', kind: 'signal', channel: 'c', body: [1], broadcast: true },
  ];
  const thens: readonly TurnThen[] = [
    ON,
    { go: 'park', key: 'w', nth: 3, channel: 'c', form: { title: 'Go?' }, timeoutMs: 5 },
    { go: 'park', key: 'w', children: [7, 'task_x', { child: 'spawn:c#0' }], need: 1, until: 5 },
    { go: 'complete' },
    { go: 'complete', result: { fine: true } },
    { go: 'fail', error: 'no', giveUp: true, retryAfterMs: 5, limit: 'api' },
  ];
  for (const then of thens) assert.deepEqual(over({ entries, then }), { entries, then });
  const draw = [
    { unit: 'tokens', amount: 5 },
    { unit: 'money', amount: Number.MAX_SAFE_INTEGER },
  ] as const;
  const spend = [
    { unit: 'ms', amount: 0 },
    { unit: 'calls', amount: 1, drawn: 2 },
  ] as const;
  assert.deepEqual(over({ entries, draw, spend, then: ON }), { entries, draw, spend, then: ON });
});

test('amounts are whole numbers of four known units', () => {
  const says = (field: 'draw' | 'spend', ...amounts: readonly object[]): boolean =>
    isMessage({ entries: [], then: ON, [field]: amounts });
  for (const field of ['draw', 'spend'] as const) {
    assert.ok(says(field, { unit: 'tokens', amount: 0 }));
    for (const amount of [-1, 0.5, 2 ** 53, Number.NaN, '1', null]) assert.ok(!says(field, { unit: 'tokens', amount }));
    assert.ok(!says(field, { unit: 'dollars', amount: 1 }));
    assert.ok(!says(field, ...Array.from({ length: 5 }, () => ({ unit: 'ms', amount: 1 }))));
  }
  assert.ok(!says('spend', { unit: 'tokens', amount: 1, drawn: -1 }));
});

test('undefined is null where something must be, and nothing where nothing need be', () => {
  const entries: readonly TurnEntry[] = [
    { key: 'v', kind: 'value', value: undefined },
    { key: 's', kind: 'signal', channel: 'c', body: undefined },
  ];
  const { entries: told, then } = over({ entries, then: { go: 'complete', result: undefined } });
  assert.deepEqual(
    [told.map((entry) => ('value' in entry ? entry.value : 'body' in entry ? entry.body : 'none')), then],
    [[null, null], { go: 'complete' }],
  );
});

test('an error comes over as what is told of it', () => {
  const { then } = over({ entries: [], then: { go: 'fail', error: new TypeError('odd') } });
  const { error } = then as { error: { name: string; message: string } };
  assert.deepEqual([error.name, error.message], ['TypeError', 'odd']);
});

test('what JSON would change is refused on the side that says it, with a name for it', () => {
  const bad: readonly TurnRequest[] = [
    { entries: [{ key: 'v', kind: 'value', value: 1n }], then: ON },
    { entries: [{ key: 'v', kind: 'value', value: 1, usage: new Map() }], then: ON },
    { entries: [{ key: 's', kind: 'signal', channel: 'c', body: Number.NaN }], then: ON },
    { entries: [{ key: 'c', kind: 'child', child: { queue: 'q', handler: 'h', input: () => 1 } }], then: ON },
    { entries: [], then: { go: 'park', key: 'w', channel: 'c', form: Symbol('s') } },
    { entries: [], then: { go: 'complete', result: '\ud800' } },
  ];
  for (const turn of bad)
    assert.equal(
      code(() => messageOf(turn)),
      'INVALID_INPUT',
      JSON.stringify(turn.then),
    );
  const huge: TurnRequest = { entries: [{ key: 'v', kind: 'value', value: 'x'.repeat(1_048_576) }], then: ON };
  assert.equal(
    code(() => messageOf(huge)),
    'TOO_LARGE',
  );
});

test('a frame is held to its shape and its bounds', () => {
  const value = { key: 'v', kind: 'value', value: '1' };
  const child = { key: 'c', kind: 'child', child: { queue: 'q', handler: 'h' } };
  const on = { go: 'on' };
  assert.ok(isMessage({ entries: Array.from({ length: 1000 }, () => value), then: on }));
  const bad: readonly object[] = [
    {},
    { entries: [] },
    { then: on },
    { entries: Array.from({ length: 1001 }, () => value), then: on },
    { entries: [{ ...value, value: 1 }], then: on },
    { entries: [{ ...value, kind: 'gift' }], then: on },
    { entries: [{ ...child, child: { ...child.child, op: 'o' } }], then: on },
    { entries: [{ ...child, child: { ...child.child, parent: 7 } }], then: on },
    { entries: [{ ...child, after: Array.from({ length: 1001 }, () => ({ on: 7 })) }], then: on },
    { entries: [{ ...child, afterFailure: 'shrug' }], then: on },
    { entries: [], then: { go: 'away' } },
    { entries: [], then: { go: 'complete', result: { n: 1 } } },
    { entries: [], then: { go: 'fail' } },
    { entries: [], then: { go: 'park' } },
  ];
  for (const message of bad) assert.equal(isMessage(message), false, JSON.stringify(message).slice(0, 100));
});
