import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draftOf, fieldsOf, valueOf } from './schema-form.ts';

const schema = {
  type: 'object',
  properties: {
    command: { type: 'string', description: 'A line' },
    count: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
    loud: { type: 'boolean' },
    kind: { enum: ['a', 7] },
    argv: { type: 'array', items: { type: 'string' } },
    env: { type: 'object', additionalProperties: { type: 'string' } },
    retry: { $ref: '#/$defs/retry' },
    fail: { anyOf: [{ type: 'boolean' }, { type: 'string' }] },
  },
  required: ['command'],
  $defs: { retry: { type: 'object', properties: { base: { type: 'number' } }, required: ['base'] } },
};
const fields = fieldsOf(schema) ?? [];

test('each kind of schema has its kind of field, and what cannot be drawn is JSON', () => {
  assert.deepEqual(
    fields.map(({ name, kind }) => `${name} ${kind}`),
    ['command text', 'count number', 'loud flag', 'kind choice', 'argv texts', 'env json', 'retry group', 'fail json'],
  );
  assert.deepEqual([fields[0]?.required, fields[0]?.about, fields[1]?.initial], [true, 'A line', 3]);
});

test('an input that is no object has no form', () => {
  for (const one of [undefined, { type: 'string' }, { type: 'array' }, {}, null, 'x'])
    assert.equal(fieldsOf(one), undefined);
});

test('a reference in a circle ends', () => {
  const loop = { type: 'object', properties: { a: { $ref: '#/properties/a' }, self: { $ref: '#' } } };
  assert.deepEqual(
    fieldsOf(loop)?.map(({ kind }) => kind),
    ['json', 'group'],
  );
});

test('what is written becomes a value, and what is left empty is left out', () => {
  const draft = {
    command: 'ls',
    count: '4',
    loud: 'false',
    kind: '7',
    argv: 'a b\n\nc',
    env: '{"A":"1"}',
    retry: {},
    fail: '',
  };
  assert.deepEqual(valueOf(fields, draft), {
    value: { command: 'ls', count: 4, loud: false, kind: 7, argv: ['a b', 'c'], env: { A: '1' } },
    problems: {},
  });
});

test('each problem stands at its place', () => {
  const { problems } = valueOf(fields, { command: '', count: '1.5', env: '{', retry: { base: 'x' } });
  assert.deepEqual(problems, { command: 'is required', count: 'must be a whole number', env: 'is not JSON' });
  assert.deepEqual(valueOf(fields, { command: 'x', count: '99' }).problems, { count: 'must be at most 9' });
});

test('a value goes into the form and comes back, with what the form does not know', () => {
  const value = {
    command: 'ls',
    count: 2,
    loud: true,
    argv: ['a'],
    env: { A: 'b' },
    retry: { base: 1.5 },
    kind: 'a',
    extra: [1],
    fail: 'no',
  };
  const { draft, rest } = draftOf(fields, value);
  assert.deepEqual(rest, { extra: [1] });
  assert.deepEqual(valueOf(fields, draft, rest), { value, problems: {} });
});

test('a new form begins with what the schema says, a filled one does not', () => {
  assert.equal(draftOf(fields, undefined).draft.count, '3');
  assert.equal(draftOf(fields, {}).draft.count, '');
});
