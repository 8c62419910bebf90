import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { refuseLongLists } from './long-lists.ts';

function problemOf(shape: z.ZodType, value: unknown): string {
  try {
    refuseLongLists('body', shape, value);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const list = (length: number): unknown[] => Array.from({ length }, () => ({}));

test('a list is as long as its shape says, wherever it stands', () => {
  const short = z.array(z.object({ tags: z.array(z.string()).max(2).optional() })).max(3);
  const shape = z.strictObject({ items: short.nullish(), any: z.unknown() });
  assert.equal(problemOf(shape, { items: list(3) }), '');
  assert.match(problemOf(shape, { items: list(4) }), /body\.items.*more than 3 entries/);
  assert.match(problemOf(shape, { items: [{}, { tags: list(3) }] }), /body\.items\.1\.tags.*more than 2/);
  assert.equal(problemOf(shape, { items: null, any: list(50_000) }), '');
  assert.equal(problemOf(shape, 'no object'), '');
  assert.match(problemOf(z.record(z.string(), short), { a: list(4) }), /body\.a.*more than 3/);
});

test('a list without a bound has that of the longest list', () => {
  assert.equal(problemOf(z.array(z.unknown()), list(20_000)), '');
  assert.match(problemOf(z.array(z.unknown()), list(20_001)), /more than 20000/);
});

test('of a union the kind that the value names counts, or what every kind refuses', () => {
  const named = z.discriminatedUnion('type', [
    z.object({ type: z.literal('a'), list: z.array(z.number()).max(1) }),
    z.object({ type: z.literal('b'), list: z.array(z.number()).max(5) }),
  ]);
  assert.equal(problemOf(named, { type: 'b', list: list(5) }), '');
  assert.match(problemOf(named, { type: 'a', list: list(5) }), /more than 1 /);
  assert.equal(problemOf(named, { type: 'c', list: list(1) }), '');
  assert.match(problemOf(named, { type: 'c', list: list(2) }), /more than 1 /);
  const one = z.strictObject({ name: z.string() });
  const oneOrMore = z.union([one, z.strictObject({ items: z.array(one).max(3) })]);
  assert.equal(problemOf(oneOrMore, { items: list(3) }), '');
  assert.match(problemOf(oneOrMore, { items: list(4) }), /body\.items/);
  assert.match(problemOf(oneOrMore, { items: list(4), more: 1 }), /body\.items/);
  const either = z.union([z.string(), z.array(z.string()).max(2), z.array(z.number()).max(4)]);
  assert.equal(problemOf(either, list(4)), '');
  assert.match(problemOf(either, list(5)), /more than/);
  assert.equal(problemOf(z.union([z.unknown(), z.array(z.string()).max(2)]), list(5)), '');
});

test('a shape that contains itself is walked as far as the value goes', () => {
  interface Tree {
    readonly children?: readonly Tree[] | undefined;
  }
  const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree).max(2).optional() }));
  assert.equal(problemOf(tree, { children: [{ children: [] }] }), '');
  assert.match(problemOf(tree, { children: [{ children: list(3) }] }), /body\.children\.0\.children/);
});
