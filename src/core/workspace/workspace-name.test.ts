import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPathBelow, readWorkspaceName, spelled } from './workspace-name.ts';

test('a workspace is a root, or a folder below one', () => {
  assert.deepEqual(readWorkspaceName('main'), { root: 'main', below: [] });
  const name = readWorkspaceName('main/shop/web-ui v1.2');
  assert.ok(typeof name !== 'string');
  assert.deepEqual([name.below, spelled(name)], [['shop', 'web-ui v1.2'], 'main/shop/web-ui v1.2']);
});

test('no name leads out of its root, or is a path of a host', () => {
  for (const name of [
    '',
    '/',
    '/etc',
    '../etc',
    'main/..',
    'main/../other',
    'main/./x',
    'main//x',
    'main/x/',
    'main/.ssh',
    'main/a\\..\\b',
    'C:\\work',
    'main/%2e%2e/x',
    'main/~',
    'main/$HOME',
    'main/a\0b',
    'main/a\nb',
    'main/x.',
    'MAIN',
    `main/${'x'.repeat(600)}`,
  ]) {
    assert.equal(typeof readWorkspaceName(name), 'string', JSON.stringify(name));
  }
});

test('a path below a workspace may begin with a dot, and leads nowhere else', () => {
  assert.deepEqual(readPathBelow('specs/.plan.md'), ['specs', '.plan.md']);
  for (const path of ['/etc/passwd', '..', '../x', 'a/../../b', './a', '', 'a//b', '..a', 'a\\b', 'a\0']) {
    assert.equal(readPathBelow(path), undefined, JSON.stringify(path));
  }
});
