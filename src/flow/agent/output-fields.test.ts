import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Value } from '../expression/values.ts';
import { Problems } from '../machine/problems.ts';
import { jsonInAnswer } from './answer-json.ts';
import { canonicalJson, fitsSchema } from './json-schema.ts';
import { type CoercedOutput, coerceOutput, outputSchema, readOutputFields } from './output-fields.ts';

const fieldsOf = (value: Value) => readOutputFields(value, ['output'], new Problems());
const coerced = (fields: Value, value: Value): CoercedOutput => coerceOutput(fieldsOf(fields), value);

describe('the output of an agent', () => {
  test('its fields become a JSON schema', () => {
    const fields = fieldsOf({
      title: { type: 'str', description: 'A title' },
      mood: { type: 'str', enum: ['good', 'bad'], required: false },
      all: { type: 'list', items: { type: 'object', properties: { n: { type: 'int' } } } },
      rest: { type: 'json' },
    });
    assert.deepEqual(outputSchema(fields), {
      type: 'object',
      properties: {
        title: { type: 'string', description: 'A title' },
        mood: { type: 'string', enum: ['good', 'bad'] },
        all: {
          type: 'array',
          items: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
        },
        rest: {},
      },
      required: ['title', 'all', 'rest'],
    });
  });

  test('a word that is no type is told, also if it is a name of JavaScript', () => {
    for (const type of ['strng', 'constructor', '__proto__']) {
      const problems = new Problems();
      const fields = readOutputFields({ x: type }, ['output'], problems);
      assert.equal(fields.get('x')?.kind, 'json');
      assert.equal(problems.all.length, 1);
    }
  });

  test('values become what was asked for, where nothing is lost', () => {
    const fields = { s: 'str', i: 'int', f: 'float', b: 'bool', l: { type: 'list', items: 'int' }, o: 'object' };
    assert.deepEqual(coerced(fields, { s: 3, i: '12', f: '1.5', b: 'True', l: '["1", 2]', o: '{"a": 1}', more: 1 }), {
      output: { s: '3', i: 12, f: 1.5, b: true, l: [1, 2], o: { a: 1 }, more: 1 },
      wrong: [],
    });
  });

  test('what is missing or of another kind is told, all of it', () => {
    const fields = {
      s: 'str',
      i: 'int',
      o: { type: 'object', properties: { x: 'bool' } },
      e: { type: 'str', enum: ['a'] },
    };
    assert.deepEqual(coerced(fields, { i: 1.5, o: { x: 'maybe' }, e: 'b' }).wrong, [
      's: it is missing',
      'i: expected a whole number, found a number',
      'o.x: expected true or false, found a text',
      'e: expected one of "a"',
    ]);
    assert.deepEqual(coerced(fields, [1]).wrong, ['expected a map, found a list']);
    assert.deepEqual(coerced({ a: { type: 'str', required: false } }, {}).wrong, []);
  });

  test('JSON is found alone, in a fence and among words', () => {
    for (const text of ['{"a": 1}', '```json\n{"a": 1}\n```', 'Here:\n```\n{"a": 1}```', 'Sure! {"a": 1} Bye.']) {
      assert.deepEqual(jsonInAnswer(text), { a: 1 }, text);
    }
    assert.equal(jsonInAnswer('no'), undefined);
    assert.equal(jsonInAnswer('} {'), undefined);
  });
});

describe('a JSON schema', () => {
  const cases: readonly (readonly [schema: Value, fits: Value, not: Value])[] = [
    [{ type: 'object', required: ['a'] }, { a: null }, {}],
    [{ type: ['string', 'null'] }, null, 1],
    [{ type: 'integer', minimum: 1, exclusiveMaximum: 3, multipleOf: 2 }, 2, 3],
    [{ minLength: 2, maxLength: 3, pattern: '^a' }, 'ab', 'ba'],
    [{ items: { type: 'number' }, minItems: 1, maxItems: 2, uniqueItems: true }, [1, 2], [1, 1]],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['a', 1], [1, 1]],
    [{ properties: { a: { const: 1 } }, additionalProperties: false }, { a: 1 }, { b: 1 }],
    [{ enum: [{ a: 1, b: 2 }] }, { b: 2, a: 1 }, { a: 1 }],
    [{ allOf: [{ type: 'number' }], anyOf: [{ minimum: 5 }, { maximum: 1 }], not: { const: 9 } }, 6, 9],
    [{ oneOf: [{ type: 'number' }, { minimum: 3 }] }, 2, 4],
    [true, 1, undefined],
  ];
  for (const [schema, fits, not] of cases) {
    test(JSON.stringify(schema), () => {
      assert.equal(fitsSchema(schema, fits), true);
      if (not !== undefined) assert.equal(fitsSchema(schema, not), false);
    });
  }

  test('one that takes too long to check, or is none, fits nothing', () => {
    const wide = (depth: number): Value =>
      depth === 0 ? {} : { allOf: Array.from({ length: 10 }, () => wide(depth - 1)) };
    assert.equal(fitsSchema(wide(6), 1), false);
    assert.equal(fitsSchema({ pattern: '(' }, 'x'), false);
    assert.equal(fitsSchema('object', {}), false);
  });

  test('one that looks at a long text again and again fits nothing, and is soon done', () => {
    const long = 'x'.repeat(2_000_000);
    const often = (schema: Value) => ({ anyOf: Array.from({ length: 50_000 }, () => schema) });
    assert.equal(fitsSchema(often({ maxLength: 5 }), long), false);
    assert.equal(fitsSchema(often({ const: 'y' }), long), false);
    assert.equal(fitsSchema({ enum: Array.from({ length: 50_000 }, (_, i) => i) }, long), false);
    assert.equal(fitsSchema({ minLength: 5, enum: [long] }, long), true);
  });

  test('the same value has the same text, whatever the order of its keys', () => {
    assert.equal(canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined }), '{"b":[1,{"c":"x","d":null}]}');
  });
});
