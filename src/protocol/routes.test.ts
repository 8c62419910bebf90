import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Route } from './route.ts';
import { ROUTES } from './routes.ts';

const ALL = Object.values(ROUTES as Record<string, Route>);

test('the reference page lists exactly the routes that there are', () => {
  const page = readFileSync(new URL('../../docs/reference/http.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \| (\w+) \| (.+) \|$/gm)].map((row) =>
    row.slice(1),
  );
  assert.deepEqual(
    rows,
    ALL.map(({ method, path, access, does }) => [`${method} ${path}`, access, does]),
  );
});

test('each family of routes is in the table, and no two of them name a route alike', async () => {
  const names: string[] = [];
  for (const file of readdirSync(new URL('routes/', import.meta.url))) {
    const families: Record<string, object> = await import(new URL(`routes/${file}`, import.meta.url).href);
    for (const [name, family] of Object.entries(families))
      if (name.endsWith('_ROUTES')) names.push(...Object.keys(family));
  }
  assert.deepEqual(names.sort(), Object.keys(ROUTES).sort());
});

test('no two routes have the same method and path, and each parameter of a path has a shape', () => {
  assert.equal(new Set(ALL.map(({ method, path }) => `${method} ${path}`)).size, ALL.length);
  for (const { path, params } of ALL) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(Object.keys(params?.shape ?? {}), named, path);
  }
});

test('what changes something is never open to who only reads', () => {
  for (const { method, path, access, methods } of ALL) {
    // A link for oneself changes nothing for anybody else.
    if (path === ROUTES.createLogin.path) continue;
    if (method !== 'GET' && methods !== true) assert.ok(access !== 'read', path);
  }
});
