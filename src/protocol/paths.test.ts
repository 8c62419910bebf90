import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRepeatable, PATHS } from './paths.ts';
import type { Route } from './route.ts';
import { ROUTES, type RouteName } from './routes.ts';

test('who asks knows the method and the path of every route, and which of them may be repeated', () => {
  for (const [name, { method, path, repeatable = false }] of Object.entries(ROUTES as Record<string, Route>)) {
    assert.equal(PATHS[name as RouteName], `${method} ${path}`);
    assert.equal(isRepeatable(name as RouteName), repeatable, name);
  }
  assert.deepEqual(Object.keys(PATHS).toSorted(), Object.keys(ROUTES).toSorted());
});
