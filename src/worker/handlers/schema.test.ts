import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseInput } from '../define/schema.ts';
import { anything, either, flag, list, object, oneOf, optional, text, texts, whole } from './schema.ts';

const sample = object(
  {
    name: text({ minLength: 1 }),
    count: optional(whole({ min: 1, max: 9, about: 'How many.' })),
    kind: optional(oneOf(['a', 'b'])),
    words: optional(list(text(), { min: 1 })),
    labels: optional(texts({ check: (name) => (name === 'bad' ? 'is reserved' : undefined) })),
    fail: optional(either(flag(), text(), 'true, false or a text')),
    more: optional(anything()),
  },
  {
    check: (value, report) => {
      if (value.name === 'twin' && value.count !== 2) report(['count'], 'must be 2 for twins');
    },
  },
);

const parse = (value: unknown): Promise<unknown> => parseInput(sample, value, 'sample');
const refuses = (value: unknown, problem: string): Promise<void> =>
  assert.rejects(parse(value), { code: 'INVALID_INPUT', details: { field: 'input of sample', problem } });

test('what fits comes back as it was', async () => {
  const input = { name: 'n', count: 9, kind: 'b', words: ['w'], labels: { a: 'b' }, fail: 'no', more: { x: [null] } };
  assert.deepEqual(await parse(input), input);
  assert.deepEqual(await parse({ name: 'n', count: undefined }), { name: 'n' });
});

test('each problem is named with its place', async () => {
  await refuses({}, 'name: is missing');
  await refuses({ name: '' }, 'name: must not be empty');
  await refuses({ name: 7 }, 'name: must be a text, not a number');
  await refuses({ name: 'n', count: 10 }, 'count: must be a whole number from 1 to 9');
  await refuses({ name: 'n', count: 1.5 }, 'count: must be a whole number from 1 to 9');
  await refuses({ name: 'n', kind: 'c' }, 'kind: must be one of a, b');
  await refuses({ name: 'n', words: [] }, 'words: must have at least 1 entry');
  await refuses({ name: 'n', words: ['a', null] }, 'words.1: must be a text, not null');
  await refuses({ name: 'n', words: 'a' }, 'words: must be a list, not a string');
  await refuses(
    { name: 'n', labels: { bad: 'x', worse: 1 } },
    'labels.bad: is reserved; labels.worse: must be a text, not a number',
  );
  await refuses({ name: 'n', labels: [] }, 'labels: must be an object, not a list');
  await refuses({ name: 'n', fail: 3 }, 'fail: must be true, false or a text');
  await refuses(null, 'must be an object, not null');
  await refuses([], 'must be an object, not a list');
});

test('an unknown field is refused with those that there are', async () => {
  await refuses(
    { name: 'n', nmae: 'm' },
    'nmae: there is no such field; the fields are name, count, kind, words, labels, fail, more',
  );
});

test('rules between fields come after the fields', async () => {
  await refuses({ name: 'twin' }, 'count: must be 2 for twins');
  await refuses({ name: 'twin', kind: 'c' }, 'kind: must be one of a, b');
});

test('an inherited property is not a field, and a field called __proto__ is only a field', async () => {
  await refuses(Object.create({ name: 'inherited' }), 'name: is missing');
  const hostile: unknown = JSON.parse('{"name":"n","labels":{"__proto__":"x"}}');
  const read = (await parse(hostile)) as { labels: object };
  assert.equal(Object.getPrototypeOf(read.labels), Object.prototype);
  assert.deepEqual(Object.entries(read.labels), [['__proto__', 'x']]);
  const open = object({}, { open: true });
  const kept = (await parseInput(open, JSON.parse('{"__proto__":{"polluted":true}}'), 'open')) as {
    polluted?: boolean;
  };
  assert.equal(kept.polluted, undefined);
});

test('it describes itself as JSON Schema, for a form', () => {
  assert.deepEqual(sample.jsonSchema, {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1 },
      count: { type: 'integer', minimum: 1, maximum: 9, description: 'How many.' },
      kind: { enum: ['a', 'b'] },
      words: { type: 'array', items: { type: 'string' }, minItems: 1 },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      fail: { anyOf: [{ type: 'boolean' }, { type: 'string' }] },
      more: {},
    },
    required: ['name'],
    additionalProperties: false,
  });
});
