import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf } from './entry.ts';
import { shownOf } from './shown.ts';

const parsed = (thing: unknown, shape: Parameters<typeof shownOf>[1]): unknown => {
  const text = shownOf(thing, shape);
  return text === undefined ? undefined : JSON.parse(text);
};

test('only named fields are shown, at every depth', () => {
  const thing = { name: 'a', secret: 's', rate: { max: 1, token: 't' }, items: [{ id: 1, code: 'c' }, 'loose'] };
  assert.deepEqual(parsed(thing, { name: true, rate: { max: true }, items: { id: true } }), {
    name: 'a',
    rate: { max: 1 },
    items: [{ id: 1 }],
  });
});

test('an object is not shown where a scalar is allowed, nor a field that it only inherits', () => {
  assert.deepEqual(
    parsed({ a: { secret: 1 }, b: [1, { secret: 2 }, 'x', true], c: null }, { a: true, b: true, c: true }),
    {
      b: [1, 'x', true],
    },
  );
  assert.equal(
    shownOf(
      {},
      Object.fromEntries([
        ['toString', true as const],
        ['constructor', true as const],
      ]),
    ),
    undefined,
  );
});

test('nothing is shown of what is no object, or has none of the fields', () => {
  for (const thing of [undefined, null, 7, 'text', {}, { other: 1 }])
    assert.equal(shownOf(thing, { name: true }), undefined);
});

test('long texts, long lists and many fields are cut', () => {
  const { text, list } = parsed({ text: 'x'.repeat(500), list: Array(99).fill(1) }, { text: true, list: true }) as {
    text: string;
    list: readonly number[];
  };
  assert.deepEqual([text.length, text.at(-1), list.length], [201, '…', 50]);
  const wide = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`field${i}`, 'y'.repeat(199)]));
  const shape = Object.fromEntries(Object.keys(wide).map((field) => [field, true as const]));
  const cut = shownOf({ ...wide, last: 1 }, { ...shape, last: true }) as string;
  assert.ok(cut.length <= 4096);
  const { cut: was, last, field0 } = JSON.parse(cut) as Record<string, unknown>;
  assert.deepEqual([was, last, (field0 as string).length], [true, 1, 199]);
});

test('the status of an answer says how an action ended', () => {
  assert.deepEqual([200, 204, 400, 404, 499, 500, 503].map(outcomeOf), [
    'done',
    'done',
    'refused',
    'refused',
    'refused',
    'failed',
    'failed',
  ]);
});
