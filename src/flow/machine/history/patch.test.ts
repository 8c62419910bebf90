import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ValueMap } from '../../expression/values.ts';
import { emptySnapshot, type Snapshot } from '../snapshot.ts';
import { applyPatch, patchOf } from './patch.ts';
import type { Sources } from './references.ts';

const LONG = 'x'.repeat(300);
const with_ = (context: ValueMap, more: Partial<Snapshot> = {}): Snapshot => ({
  ...emptySnapshot({ who: 'w'.repeat(300) }),
  ...more,
  context,
});

/** The patch, and that it leads to the second snapshot after a way through JSON. */
function between(before: Snapshot, after: Snapshot, sources: Sources = new Map()) {
  const patch = patchOf(before, after, sources);
  const stored = JSON.parse(JSON.stringify(patch)) as typeof patch;
  assert.deepEqual(applyPatch(before, stored, sources), JSON.parse(JSON.stringify(after)));
  return stored;
}

describe('a patch', () => {
  test('of the same snapshot is empty, also if a hook gave back a copy', () => {
    const before = with_({ a: { b: [1, { c: 2 }] } });
    assert.deepEqual(between(before, structuredClone(before)), {});
  });

  test('has what was set, dropped and changed within maps, and no more', () => {
    const before = with_({ kept: LONG, gone: 1, map: { a: 1, b: { c: 2, d: LONG } } });
    const after = with_({ kept: LONG, fresh: 2, map: { a: 1, b: { c: 3, d: LONG } } }, { step: 4, state: 'next' });
    assert.deepEqual(between(before, after), {
      at: { step: 4, state: 'next' },
      context: { set: { fresh: 2 }, drop: ['gone'], within: { map: { within: { b: { set: { c: 3 } } } } } },
    });
  });

  test('has only what was added to a list', () => {
    const list = [LONG, LONG];
    assert.deepEqual(between(with_({ list }), with_({ list: [...list, 'new'] })), {
      context: { more: { list: [{ value: 'new' }] } },
    });
    assert.deepEqual(between(with_({ list: [] }), with_({ list: ['new'] })), { context: { set: { list: ['new'] } } });
    between(with_({ list: [1, 2, 3] }), with_({ list: [1] }));
  });

  test('points to what stands in the output, the input, the old context or the result of a child', () => {
    const big = { text: LONG };
    const out = { value: { text: `${LONG}!` }, short: { n: 1 } };
    const before = with_({ old: big });
    const sources: Sources = new Map<string, unknown>([
      ['out', out],
      ['s:000001/0', big],
    ]);
    const input = before.input as { who: string };
    const after = with_({ old: big, from: out.value, short: out.short, moved: before.context['old'], said: input.who });
    assert.deepEqual(between(before, after, sources), {
      context: {
        set: { short: { n: 1 } },
        from: {
          from: { in: 'out', at: ['value'] },
          moved: { in: 's:000001/0', at: [] },
          said: { in: 'input', at: ['who'] },
        },
      },
    });
  });

  test('points to the parts of a list and of a map', () => {
    const [one, two] = [{ text: `${LONG}1` }, { text: `${LONG}2` }];
    const sources: Sources = new Map([
      ['s:000001/0', one],
      ['s:000001/1', two],
    ]);
    const patch = between(with_({}), with_({ all: [one, 7, two], named: { one, two, n: null } }), sources);
    assert.ok(JSON.stringify(patch).length < 300);
    const more = between(with_({ all: [7] }), with_({ all: [7, two] }), sources);
    assert.deepEqual(more, { context: { more: { all: [{ in: 's:000001/1', at: [] }] } } });
  });

  test('keeps names that are dangerous elsewhere', () => {
    const context = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}') as ValueMap;
    const patch = between(with_({}), with_(context));
    const applied = applyPatch(with_({}), patch, new Map());
    assert.deepEqual(Object.keys(applied.context), ['__proto__', 'constructor']);
  });

  test('leaves out what is no longer there, and takes the input from the run', () => {
    const before = with_({}, { to: 'elsewhere', error: { type: 'E', message: 'm' } });
    const { to: _, error: __, ...rest } = before;
    const patch = between(before, rest as Snapshot);
    assert.deepEqual(patch, { gone: ['to', 'error'] });
    assert.ok(!JSON.stringify(patchOf(emptySnapshot(1), with_({}), new Map())).includes('who'));
  });
});
