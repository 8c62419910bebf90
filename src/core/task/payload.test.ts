import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEngineError } from '../errors.ts';
import type { PayloadOptions } from './payload.ts';
import { canonicalJson, encodePayload, entryBounds, MAX_PAYLOAD_BYTES, utf8Length } from './payload.ts';

function refusal(value: unknown, options?: PayloadOptions): { readonly message: string; readonly path: unknown } {
  try {
    encodePayload(value, options);
  } catch (error) {
    assert.ok(isEngineError(error, 'INVALID_INPUT'), String(error));
    return { message: error.message, path: error.details?.path };
  }
  return assert.fail('it was accepted');
}

function isTooLarge(error: unknown): boolean {
  return isEngineError(error, 'TOO_LARGE');
}

/** Arrays and objects, `levels` deep. */
function nested(levels: number): unknown {
  let value: unknown = 'leaf';
  for (let i = 0; i < levels; i += 1) value = i % 2 === 0 ? [value] : { in: value };
  return value;
}

const wellFormed = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed() && !text.includes('\u0000'));

test('every JSON value is stored and read back unchanged', () => {
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      wellFormed,
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map((n) => n + 0),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('tree')),
      fc.dictionary(
        wellFormed.filter((key) => key !== '__proto__'),
        tie('tree'),
        { noNullPrototype: true },
      ),
    ),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      const text = encodePayload(value);
      assert.equal(text, JSON.stringify(value));
      assert.deepEqual(JSON.parse(text), value);
    }),
  );
});

test('undefined follows JSON: null at the top, left out as a property, null as an item', () => {
  assert.equal(encodePayload(undefined), 'null');
  assert.equal(encodePayload({ a: undefined, b: [undefined, 1] }), '{"b":[null,1]}');
  assert.equal(encodePayload({ toJSON: () => undefined }), 'null');
});

test('values that JSON would drop or change are refused with the path to them', () => {
  const wrong: readonly (readonly [unknown, RegExp, string])[] = [
    [() => 1, /a function/, '$'],
    [{ a: [1, { run: () => 1 }] }, /a function/, '$.a[1].run'],
    [{ 'odd key': Symbol('s') }, /a symbol/, '$["odd key"]'],
    [[0, 10n], /a bigint/, '$[1]'],
    [{ n: Number.NaN }, /the number NaN/, '$.n'],
    [[[-Infinity]], /the number -Infinity/, '$[0][0]'],
    [{ id: 2 ** 53 }, /beyond 2\^53/, '$.id'],
    [-(2 ** 53), /beyond 2\^53/, '$'],
    [JSON.parse('{"a":{"__proto__":{"admin":true}}}'), /__proto__/, '$.a.__proto__'],
    [{ m: new Map([[1, 2]]) }, /type Map/, '$.m'],
    [new Set([1]), /type Set/, '$'],
    [{ later: Promise.resolve(1) }, /type Promise/, '$.later'],
    [{ e: new Error('lost') }, /type Error/, '$.e'],
    [{ bytes: new Uint8Array(2) }, /type Uint8Array/, '$.bytes'],
  ];
  for (const [value, reason, path] of wrong) {
    const refused = refusal(value);
    assert.match(refused.message, reason);
    assert.equal(refused.path, path);
    assert.ok(refused.message.includes(` at ${path}.`), refused.message);
  }
});

test('NUL characters and half surrogate pairs are refused in values and in keys', () => {
  const wrong: readonly (readonly [unknown, RegExp, string])[] = [
    ['a\u0000b', /NUL/, '$'],
    [{ a: ['x', '\u0000'] }, /NUL/, '$.a[1]'],
    [{ 'k\u0000': 1 }, /NUL/, '$["k\\u0000"]'],
    ['\ud800', /surrogate/, '$'],
    [[{ a: 'x\udfff' }], /surrogate/, '$[0].a'],
    [{ a: { '\ud83d': 1 } }, /surrogate/, '$.a["\\ud83d"]'],
    [{ first: null, n: 1, s: { toJSON: () => '\u0000' } }, /NUL/, '$.s'],
  ];
  for (const [value, reason, path] of wrong) {
    const refused = refusal(value);
    assert.match(refused.message, reason);
    assert.equal(refused.path, path);
  }
});

test('text that only looks like an escaped NUL or surrogate is accepted', () => {
  for (const text of ['\\u0000', 'C:\\users\\ud', '\\ud800', '\u{1f600}', '\ud83d\ude00']) {
    assert.equal(JSON.parse(encodePayload({ text, n: 1, none: null })).text, text);
  }
});

test('an object with toJSON is stored as its result, which is checked', () => {
  assert.equal(encodePayload({ at: new Date(0) }), '{"at":"1970-01-01T00:00:00.000Z"}');
  assert.equal(encodePayload([new URL('https://example.org/a')]), '["https://example.org/a"]');
  assert.equal(encodePayload({ toJSON: (key: string) => ({ key }) }), '{"key":""}');
  assert.equal(encodePayload([{ toJSON: (key: string) => key }]), '["0"]');
  assert.equal(encodePayload({ toJSON: 'not a function' }), '{"toJSON":"not a function"}');
  assert.equal(refusal({ a: { toJSON: () => ({ n: Number.NaN }) } }).path, '$.a.n');
  assert.equal(refusal({ a: { toJSON: () => 5n } }).path, '$.a');
});

test('an instance of a class is stored by its own fields, and an object needs no prototype', () => {
  class Point {
    readonly x = 1;
    readonly y = 2;
  }
  assert.equal(encodePayload(new Point()), '{"x":1,"y":2}');
  assert.equal(encodePayload(Object.assign(Object.create(null), { a: 1 })), '{"a":1}');
});

test('nesting is accepted up to the limit and refused beyond it', () => {
  encodePayload(nested(64));
  assert.match(refusal(nested(65)).message, /more than 64 levels/);
  encodePayload(nested(3), { maxDepth: 3 });
  assert.equal(refusal(nested(4), { maxDepth: 3 }).path, '$.in[0].in');
  assert.match(refusal(nested(100_000)).message, /more than 64 levels/);
});

test('a cycle is refused at the reference that closes it', () => {
  const loop: Record<string, unknown> = { name: 'loop' };
  loop.self = loop;
  const refused = refusal({ a: [loop] });
  assert.match(refused.message, /reference back/);
  assert.equal(refused.path, '$.a[0].self');

  const parent: Record<string, unknown> = {};
  parent.children = [{ parent }];
  assert.match(String(refusal({ root: parent }).path), /^\$\.root\.children\[0\]\.parent/);
});

test('the same object in two places is no cycle', () => {
  const shared = { a: 1 };
  assert.equal(encodePayload([shared, shared]), '[{"a":1},{"a":1}]');
});

test('the limit of size counts bytes of UTF-8', () => {
  assert.equal(encodePayload('x'.repeat(8), { maxBytes: 10 }), '"xxxxxxxx"');
  assert.throws(() => encodePayload('x'.repeat(9), { maxBytes: 10 }), isTooLarge);
  assert.equal(encodePayload('éééé', { maxBytes: 10 }).length, 6);
  assert.throws(() => encodePayload('ééééé', { maxBytes: 10 }), isTooLarge);
  assert.throws(() => encodePayload('\n'.repeat(8), { maxBytes: 10 }), isTooLarge);
  assert.throws(() => encodePayload('x'.repeat(1_048_575)), isTooLarge);
  assert.equal(encodePayload('x'.repeat(1_048_574)).length, 1_048_576);
});

test('the error of a payload that is too large names the field and the limit', () => {
  assert.throws(
    () => encodePayload([{ a: 'x'.repeat(20) }], { maxBytes: 10, field: 'result' }),
    (error: unknown) => {
      assert.ok(isEngineError(error, 'TOO_LARGE'));
      assert.deepEqual(error.details, { field: 'result', maxBytes: 10 });
      return true;
    },
  );
  assert.match(refusal([1n], { field: 'result' }).message, /^The result is not valid/);
});

test('a small value that would become an enormous text is refused at once', () => {
  let bomb: unknown = 'x';
  for (let i = 0; i < 60; i += 1) bomb = [bomb, bomb];
  assert.throws(() => encodePayload(bomb), isTooLarge);
  let records: unknown = {};
  for (let i = 0; i < 60; i += 1) records = { a: records, b: records };
  assert.throws(() => encodePayload(records), isTooLarge);
  const holes: unknown[] = [];
  holes.length = 2 ** 32 - 1;
  assert.throws(() => encodePayload(holes), isTooLarge);
  assert.throws(() => encodePayload({ toJSON: () => [true, {}] }, { maxBytes: 7 }), isTooLarge);
});

test('a value that throws while it is read is refused with the cause', () => {
  for (const [cause, reason] of [
    [new Error('no database'), /\(no database\)/],
    [Object.create(null), /not an Error/],
  ] as const) {
    const value = {
      get field(): string {
        throw cause;
      },
    };
    assert.throws(
      () => encodePayload(value),
      (error: unknown) => {
        assert.ok(isEngineError(error, 'INVALID_INPUT'));
        assert.match(error.message, reason);
        assert.equal(error.cause, cause);
        return true;
      },
    );
  }
});

test('the order of keys, spaces and spellings do not change the canonical text', () => {
  assert.equal(
    canonicalJson(' { "b" : [ 1.0, {"d":null,"c":"\\u0041"} ], "a" : true } '),
    '{"a":true,"b":[1,{"c":"A","d":null}]}',
  );
  assert.equal(canonicalJson('{"2":0,"10":0,"__proto__":1}'), '{"10":0,"2":0,"__proto__":1}');
  assert.equal(canonicalJson('"x"'), '"x"');
});

test('texts have the same canonical form exactly when they mean the same value', () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, child]) => [key, shuffled(child)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      assert.equal(canonicalJson(JSON.stringify(shuffled(value))), canonicalJson(text));
      assert.equal(canonicalJson(canonicalJson(text)), canonicalJson(text));
      assert.deepEqual(JSON.parse(canonicalJson(text)), JSON.parse(text));
    }),
  );
});

test('the length in UTF-8 is that of the bytes, also with half surrogate pairs', () => {
  for (const text of [
    '',
    'abc',
    'é',
    '€',
    '\u{1f600}',
    '\ud800',
    '\udc00',
    '\ud800\ud800',
    '\ud800x',
    '\udc00\ud800',
    '\uffff',
  ]) {
    assert.equal(utf8Length(text), Buffer.byteLength(text), JSON.stringify(text));
  }
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => utf8Length(text) === Buffer.byteLength(text)));
});

test('the outcome of a wait has room for the largest signal, and no other entry has more than a payload', () => {
  const text = 'x'.repeat(MAX_PAYLOAD_BYTES - 2);
  const outcome = { outcome: 'woken', value: text };
  assert.equal(JSON.parse(encodePayload(outcome, entryBounds('wait'))).value, text);
  for (const kind of ['value', undefined]) {
    assert.throws(() => encodePayload(outcome, entryBounds(kind)), { code: 'TOO_LARGE' });
  }
  const deep: unknown = JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`);
  encodePayload({ outcome: 'woken', value: deep }, entryBounds('wait'));
  assert.throws(() => encodePayload({ value: deep }, entryBounds('value')), { code: 'INVALID_INPUT' });
});
