import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knowledgeOf, withoutPrefill } from './told-schemas.ts';

const told = (worker: string, schema: object) => ({ worker, handler: 'render', schema: JSON.stringify(schema) });
const A = { type: 'object', properties: { a: { type: 'string' } } };
const B = { type: 'object', properties: { b: { type: 'string' } } };

test('workers that agree make the schema of a handler, and only those that offer it count', () => {
  const all = [told('w1', A), told('w2', A), told('w3', B)];
  assert.deepEqual(knowledgeOf(all, new Set(['w1', 'w2'])), { schema: A });
  assert.deepEqual(knowledgeOf(all, new Set(['w3'])), { schema: B });
  assert.deepEqual(knowledgeOf(all, new Set(['other'])), {});
});

test('workers that disagree leave a handler without a schema, and are named with what each tells', () => {
  assert.deepEqual(knowledgeOf([told('w2', A), told('w1', A), told('w3', B)], new Set(['w1', 'w2', 'w3'])), {
    disagreement: [
      { workers: ['w1', 'w2'], schema: A },
      { workers: ['w3'], schema: B },
    ],
  });
  const many = Array.from({ length: 30 }, (_, n) => told(`w${n}`, { title: String(n) }));
  assert.equal(knowledgeOf(many, new Set(many.map(({ worker }) => worker))).disagreement?.length, 10);
});

test('what a worker tells of defaults and examples does not reach a form, however deep it stands', () => {
  const schema = {
    type: 'object',
    default: { command: 'rm' },
    examples: [{ command: 'rm' }],
    properties: {
      default: { type: 'string', default: 'evil' },
      choice: { enum: ['a', { default: 1 }], default: 'a' },
      list: { type: 'array', items: [{ const: 'x', default: 'evil' }] },
      ref: { $ref: '#/$defs/one' },
      into: { $ref: '#/properties/choice/enum/1' },
      self: { $ref: '#' },
    },
    $defs: { one: { type: 'number', default: 7 } },
  };
  assert.deepEqual(withoutPrefill(schema), {
    type: 'object',
    properties: {
      default: { type: 'string' },
      choice: { enum: ['a', { default: 1 }] },
      list: { type: 'array', items: [{ const: 'x' }] },
      ref: { $ref: '#/$defs/one' },
      into: {},
      self: { $ref: '#' },
    },
    $defs: { one: { type: 'number' } },
  });
});

test('a schema of any depth is read', () => {
  const deep = JSON.parse(`${'{"not":'.repeat(4000)}{"default":1}${'}'.repeat(4000)}`) as Record<string, unknown>;
  assert.doesNotMatch(JSON.stringify(withoutPrefill(deep)), /default/);
});
