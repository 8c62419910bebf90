import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DocumentNode, findFlaw, needsAcross, subtreeOf } from './document.ts';

/** `a<b c d?`: `a` is below `b`, and depends on `c` and, whatever its end, on `d`. */
function tree(...texts: readonly string[]): readonly DocumentNode[] {
  return texts.map((text) => {
    const [head = '', ...needs] = text.split(' ');
    const [id = '', parent] = head.split('<');
    const dependencies = needs.map((need) => ({ id: need.replace('?', ''), required: !need.endsWith('?') }));
    return { id, parent, dependencies };
  });
}

test('a tree with dependencies between its branches has no flaw', () => {
  assert.equal(findFlaw(tree('r', 'a<r', 'b<r a', 'c<b', 'd<r b? c')), undefined);
  assert.equal(findFlaw(tree('r a', 'a<r')), undefined, 'a parent may need its child, after which it runs anyway');
  assert.equal(findFlaw(tree('r')), undefined);
});

test('a cycle is found: direct, indirect, of one document alone, or through a parent that waits for its children', () => {
  const circle = (...texts: readonly string[]): readonly string[] => {
    const flaw = findFlaw(tree(...texts));
    assert.equal(flaw?.kind, 'circle', JSON.stringify(flaw));
    return flaw.kind === 'circle' ? flaw.ids : [];
  };
  assert.deepEqual(circle('r', 'a<r b', 'b<r a').toSorted(), ['a', 'a', 'b']);
  assert.deepEqual(circle('r', 'a<r b', 'b<r c?', 'c<r a').length, 4);
  assert.deepEqual(circle('r', 'a<r a'), ['a', 'a']);
  assert.deepEqual(circle('r', 'a<r', 'b<a r').length, 4, 'a child that waits for what is above it');
  assert.deepEqual(
    circle('r', 'a<r', 'b<a', 'c<r a', 'd<b c').at(0),
    circle('r', 'a<r', 'b<a', 'c<r a', 'd<b c').at(-1),
  );
});

test('dependencies and parents must be in the tree', () => {
  assert.deepEqual(findFlaw(tree('r', 'a<r x')), { kind: 'reference', id: 'a', on: 'x' });
  assert.deepEqual(findFlaw(tree('r', 'a<r x?')), { kind: 'reference', id: 'a', on: 'x' });
  assert.deepEqual(findFlaw(tree('r', 'a<x')), { kind: 'parent', id: 'a', parent: 'x' });
});

test('a tree has one root, no document twice, and no document below itself', () => {
  assert.deepEqual(findFlaw(tree('r', 's')), { kind: 'roots', ids: ['r', 's'] });
  assert.deepEqual(findFlaw([]), { kind: 'roots', ids: [] });
  assert.deepEqual(findFlaw(tree('r', 'r')), { kind: 'twice', id: 'r' });
  assert.deepEqual(findFlaw(tree('r', 'a<b', 'b<a')), { kind: 'ancestry', ids: ['a', 'b', 'a'] });
  assert.deepEqual(findFlaw(tree('a<a')), { kind: 'ancestry', ids: ['a', 'a'] });
});

test('the subtree of a document is everything below it, and nothing else', () => {
  const nodes = tree('r', 'a<r', 'b<a', 'c<b', 'd<r');
  assert.deepEqual(
    subtreeOf(nodes, 'a').map(({ id }) => id),
    ['a', 'b', 'c'],
  );
  assert.equal(subtreeOf(nodes, 'r').length, 5);
  assert.deepEqual(subtreeOf(nodes, 'x'), []);
});

test('a document that stays and depends on one that goes is found', () => {
  const nodes = tree('r', 'a<r', 'b<r a?', 'c<r');
  assert.deepEqual(needsAcross(nodes, new Set(['a'])), { id: 'b', on: 'a' });
  assert.equal(needsAcross(nodes, new Set(['a', 'b'])), undefined);
  assert.equal(needsAcross(nodes, new Set(['c'])), undefined);
});
