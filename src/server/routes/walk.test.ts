/** Every route of the table, called by callers who may not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { mayCall, ROLES, type Route } from '../../protocol/route.ts';
import { ROUTES } from '../../protocol/routes.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);
/** Ids that do not exist: token 1 would be the caller's own. */
const pathOf = ({ path }: Route): string => path.replace(/\{\w+\}/g, '4711');
const bodyOf = ({ method }: Route): { body?: object } => (method === 'GET' ? {} : { body: {} });

test('without a token every route but the open ones is refused with 401, whatever the token looks like', async (t) => {
  const scene = await nodeScene(t);
  const bad = [null, 'wrong', 'lh_adm_'.padEnd(50, 'a'), scene.admin.slice(0, -1), `${scene.admin}x`];
  let refused = 0;
  for (const [name, route] of ALL) {
    if (route.access === 'open') continue;
    for (const token of bad) {
      const answer = await scene.ask(pathOf(route), { method: route.method, token, ...bodyOf(route) });
      assert.equal(answer.status, 401, `${name} with ${token}`);
      const { code, data } = route.plain ? answer.body : answer.body.error;
      assert.deepEqual(
        route.rpc ? [code, data.code] : [code],
        route.rpc ? [-32004, 'UNAUTHENTICATED'] : ['UNAUTHENTICATED'],
      );
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      refused++;
    }
  }
  assert.ok(refused > 100);
});

test('with a token of another role every route is refused with 403, and with the right one it is let in', async (t) => {
  const scene = await nodeScene(t);
  const roles = ['admin', 'operator', 'read'] as const;
  const tokens = { admin: '', operator: '', read: '' };
  for (const role of roles) tokens[role] = (await scene.token(role)).token;
  for (const [name, route] of ALL) {
    if (route.stream === 'events') continue;
    for (const role of roles) {
      const { status } = await scene.ask(pathOf(route), {
        method: route.method,
        token: tokens[role],
        ...bodyOf(route),
      });
      if (mayCall(role, route.access)) assert.ok(status !== 401 && status !== 403, `${role} at ${name}: ${status}`);
      else assert.equal(status, 403, `${role} at ${name}`);
      assert.ok(status < 500, `${role} at ${name}: ${status}`);
    }
  }
});

test('with a cookie every route is open to the same roles, and no change goes without the header of our pages', async (t) => {
  const scene = await nodeScene(t);
  for (const role of ['operator', 'read'] as const) {
    const { token } = await scene.token(role);
    const login = await scene.ask('/ui/login', { body: { token }, token: null });
    const cookie = String(login.headers.get('set-cookie')).split(';')[0] as string;
    for (const [name, route] of ALL) {
      // A logout would end the session for all that come after it.
      if (route.stream === 'events' || route.access === 'open' || name === 'logout') continue;
      const call = (headers: Record<string, string>): Promise<{ status: number }> =>
        scene.ask(pathOf(route), {
          method: route.method,
          token: null,
          headers: { cookie, ...headers },
          ...bodyOf(route),
        });
      const may = mayCall(role, route.access);
      const { status } = await call({ 'x-leasehold-ui': '1' });
      if (may) assert.ok(status !== 401 && status !== 403, `${role} at ${name}: ${status}`);
      else assert.equal(status, 403, `${role} at ${name}`);
      if (route.method !== 'GET') assert.equal((await call({})).status, 403, `${role} at ${name} without the header`);
    }
  }
});

test('with a cookie that is not good every route but the open ones is refused with 401', async (t) => {
  const scene = await nodeScene(t);
  const login = await scene.ask('/ui/login', { body: { token: scene.admin }, token: null });
  const good = String(login.headers.get('set-cookie')).split(';')[0] as string;
  for (const cookie of ['leasehold_session=', 'leasehold_session=x.y', `${good}x`, good.replace('=', '=x')]) {
    for (const [name, route] of ALL) {
      const headers = { cookie, 'x-leasehold-ui': '1' };
      const { status } = await scene.ask(pathOf(route), {
        method: route.method,
        token: null,
        headers,
        ...bodyOf(route),
      });
      if (route.access !== 'open') assert.equal(status, 401, `${name} with ${cookie.slice(0, 30)}`);
      // This node may have no release, and a hash in a path is none here.
      else if (name.startsWith('release')) assert.ok([200, 400, 404].includes(status), `${name}: ${status}`);
      // Without a signature it is no address at all.
      else if (route.signed !== undefined) assert.equal(status, 400, name);
      else if (route.method === 'GET') assert.equal(status, 200, name);
    }
  }
});

test('a role may do what lesser ones may; a worker stands apart', () => {
  const may = (role: (typeof ROLES)[number]): string => ROLES.filter((access) => mayCall(role, access)).join();
  assert.deepEqual(ROLES.map(may), ['admin,operator,read', 'operator,read', 'read', 'worker']);
  assert.ok(ROLES.every((role) => mayCall(role, 'open')));
});

test('a field, a parameter or a form that no route names is refused, and says which', async (t) => {
  const scene = await nodeScene(t);
  const refused = async (path: string, body?: unknown, method?: string): Promise<string> => {
    const answer = await scene.ask(path, {
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method }),
    });
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.equal(answer.body.error.code, 'INVALID_INPUT');
    return answer.body.error.message;
  };
  assert.match(await refused('/api/v1/tasks', { queue: 'q', state: 'completed' }), /"state"/);
  assert.match(await refused('/api/v1/tasks', { queue: 'q', attempt: 7 }), /"attempt"/);
  assert.match(await refused('/api/v1/tasks', { queue: 7 }), /body\.queue/);
  assert.match(
    await refused('/api/v1/tasks', { tasks: [{ queue: 'q' }, { queue: 'q', priority: 'high' }] }),
    /body\.tasks\.1\.priority/,
  );
  assert.match(await refused('/api/v1/tasks', []), /body/);
  assert.match(await refused('/api/v1/tasks?limit=9000'), /query\.limit/);
  assert.match(await refused('/api/v1/tasks?nothing=1'), /"nothing"/);
  assert.match(await refused('/api/v1/queues?x=1'), /query\.x/);
  assert.match(await refused('/api/v1/tasks?state=gone'), /query\.state\.0/);
  assert.match(await refused(`/api/v1/tasks?token=${scene.admin}`), /address/);
  assert.match(await refused('/api/v1/tasks', '{"queue": '), /not JSON/);
  assert.match(await refused('/api/v1/tasks', `{"queue":"q","input":${'['.repeat(9000)}${']'.repeat(9000)}}`), /deep/);
  assert.match(await refused('/api/v1/tasks', { queue: 'q', input: 'a\u0000b' }), /input/);
  assert.match(await refused('/api/v1/limits/none', { concurrent: 'many' }, 'PATCH'), /body\.concurrent/);
});

test('a body that is no JSON by its type, or too long, is refused', async (t) => {
  const scene = await nodeScene(t);
  const plain = await scene.ask('/api/v1/tasks', { body: '{"queue":"q"}', headers: { 'content-type': 'text/plain' } });
  assert.equal(plain.status, 400);
  assert.match(plain.body.error.message, /application\/json/);
  const large = await scene.ask('/api/v1/tasks', { body: { queue: 'q', input: 'x'.repeat(17 * 1024 * 1024) } });
  assert.equal(large.status, 413);
  const input = await scene.ask('/api/v1/tasks', { body: { queue: 'q', input: 'x'.repeat(2 * 1024 * 1024) } });
  assert.deepEqual([input.status, input.body.error.code], [413, 'TOO_LARGE']);
});

test('the document of the API has every route with its parameters, and no reference that leads nowhere', async (t) => {
  const scene = await nodeScene(t);
  const document = await scene.call('openapi', '/openapi.json');
  assert.equal(document.openapi, '3.1.0');
  for (const [name, { method, path }] of ALL) {
    const operation = document.paths[path]?.[method.toLowerCase()];
    assert.equal(operation?.operationId, name);
    const named = (operation.parameters ?? []).filter((one: { in: string }) => one.in === 'path').length;
    assert.equal(named, path.match(/\{/g)?.length ?? 0, name);
  }
  const references = new Set(
    JSON.stringify(document)
      .match(/"#[^"]*"/g)
      ?.map((text) => JSON.parse(text) as string),
  );
  assert.ok(references.has('#/components/schemas/Task'));
  for (const reference of references) {
    const found = reference
      .slice(2)
      .split('/')
      .reduce((part, key) => part?.[key], document);
    assert.ok(found, reference);
  }
});

test('why a node is not ready is told to who was let in, and to nobody else', async (t) => {
  const scene = await nodeScene(t);
  assert.deepEqual(await scene.call('ready', '/readyz', { token: null }), { status: 'ready' });
  const broken = t.mock.method(scene.engine.store, 'clock', () => Promise.reject(new Error('the disk is gone')));
  const open = await scene.ask('/readyz', { token: null });
  assert.deepEqual([open.status, open.body], [503, { status: 'not ready' }]);
  const known = await scene.ask('/readyz');
  assert.deepEqual(known.body, { status: 'not ready', reasons: ['the disk is gone'] });
  broken.mock.restore();
});

test('an error that nobody foresaw says nothing of itself', async (t) => {
  const logged: unknown[] = [];
  const log = { info: () => {}, warn: () => {}, error: (_: string, fields?: object) => void logged.push(fields) };
  const scene = await nodeScene(t, { log });
  t.mock.method(scene.engine.store, 'queueList', () => Promise.reject(new Error('SELECT * FROM secret')));
  const answer = await scene.ask('/api/v1/queues');
  assert.equal(answer.status, 500);
  assert.doesNotMatch(JSON.stringify(answer.body), /secret|SELECT|:\d+:\d+/);
  assert.match(JSON.stringify(logged), /SELECT \* FROM secret/);
  assert.match(JSON.stringify(logged), new RegExp(String(answer.headers.get('x-request-id'))));
});
