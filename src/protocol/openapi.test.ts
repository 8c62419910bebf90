import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApi } from './openapi.ts';
import type { Route } from './route.ts';
import { ROUTES } from './routes.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
  readonly security?: readonly unknown[];
  readonly 'x-role'?: string;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly id?: unknown; readonly type?: string }>>;
  };
}

const document = openApi({ version: '1.2.3', server: 'http://127.0.0.1:7420' }) as unknown as Document;
const operations = Object.entries(ROUTES as Record<string, Route>).map(([name, route]) => {
  const operation = document.paths[route.path]?.[route.method.toLowerCase()];
  assert.ok(operation, name);
  return { name, route, operation };
});

function kindsOf({ text, stream }: Route): string[] {
  const texts = { prometheus: 'text/plain', shell: 'text/x-shellscript', bytes: 'application/octet-stream' };
  if (text !== undefined) return [texts[text]];
  if (stream === 'events') return ['text/event-stream'];
  return stream === 'maybe' ? ['application/json', 'text/event-stream'] : ['application/json'];
}

test('a parameter is called required when a request without it is refused, and only then', () => {
  let asked = 0;
  for (const { name, route, operation } of operations) {
    const required = (operation.parameters ?? []).filter((one) => one.in === 'query' && one.required);
    const refused = route.query?.safeParse({}).success === false;
    assert.equal(required.length > 0, refused, `${name}: ${required.map((one) => one.name).join()}`);
    asked += route.query === undefined ? 0 : 1;
  }
  assert.ok(asked >= 4);
});

test('an operation has a body, a role, a status and a kind of answer as its route has', () => {
  for (const { name, route, operation } of operations) {
    assert.equal(operation.requestBody !== undefined, route.body !== undefined || route.bytes === true, name);
    if (route.access === 'open') assert.deepEqual(operation.security, [], name);
    else assert.equal(operation['x-role'], route.access, name);
    const content = Object.keys(operation.responses[String(route.status ?? 200)]?.content ?? {});
    assert.deepEqual(content, route.status === 204 ? [] : kindsOf(route), name);
    assert.ok(operation.responses['4XX'], name);
    const keyed = operation.parameters?.some((one) => one.name === 'Idempotency-Key') ?? false;
    assert.equal(keyed, route.repeatable === true, name);
  }
});

test('shapes are named once, and nothing of how they were made is left in them', () => {
  const text = JSON.stringify(document);
  assert.doesNotMatch(text, /\$defs|__schema|"\$schema"/);
  for (const [name, shape] of Object.entries(document.components.schemas)) {
    assert.equal(shape.id, undefined, name);
    assert.equal(shape.type, 'object', name);
  }
});

test('no two routes answer the same method and path, and each path begins where its kind does', () => {
  const places = operations.map(({ route }) => `${route.method} ${route.path.replace(/\{\w+\}/g, '{}')}`);
  assert.equal(new Set(places).size, places.length);
  for (const { name, route } of operations)
    assert.match(route.path, /^\/(api\/v1\/|[a-z0-9.]*$|[a-z]+\/|\.well-known\/)/, name);
});
