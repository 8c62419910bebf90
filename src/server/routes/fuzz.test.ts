/** Nonsense at every route, by a caller who may do everything: it is refused or done, and nothing breaks. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { scaled } from '../../../test/support/scale.ts';
import type { Route } from '../../protocol/route.ts';
import { ROUTES } from '../../protocol/routes.ts';
import { PlainProblem, Problem } from '../../protocol/shapes/problem.ts';

const ALL = Object.entries(ROUTES as Record<string, Route>);

/** Every name of a field, parameter or header that means something somewhere. */
const NAMES =
  'queue handler input tasks priority delay runAt maxAttempts retry baseMs factor jitter timeout waitTimeout unique key window placement requires only never maxPerWorker version prefer tag weight affinity limits fairness reuse maxAge name concurrent limit perKey rate cost max burst strategy backlog for channel body broadcast action value role ttl grace enabled addTags removeTags tree dryRun state cursor follow after task kind tags slots code hostname capabilities __proto__ constructor toString'.split(
    ' ',
  );
const name = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...NAMES) },
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const leaf = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    -0,
    1,
    -1,
    2 ** 31,
    2 ** 53,
    -(2 ** 63),
    1e308,
    0.1,
    '',
    '0',
    '5m',
    '1h30m',
    'q',
    'api',
    'w',
  ),
  fc.constantFrom(
    '\u0000',
    '\ud800',
    'a\u0000b',
    '\u202e',
    '../..',
    '%00',
    "'; DROP TABLE task; --",
    '{}',
    'x'.repeat(300),
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.integer(),
  fc.double(),
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(name, tie('json'), { maxKeys: 6 }),
  ),
}));
const object = fc.dictionary(name, json, { maxKeys: 8 });
/** Somewhere between good and bad: what is asked for is often there. */
const nearly = fc.tuple(
  fc.constantFrom(
    { queue: 'q' },
    { name: 'api' },
    { for: '1m' },
    { channel: 'c' },
    { action: 'approve' },
    { role: 'read', name: 'x' },
    {},
  ),
  object,
);
const body = fc.oneof(
  nearly.map(([good, more]) => JSON.stringify({ ...more, ...good })),
  fc
    .array(nearly, { maxLength: 5 })
    .map((some) => JSON.stringify({ tasks: some.map(([good, more]) => ({ ...more, ...good })) })),
  json.map((value) => JSON.stringify(value)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  nearly.chain(([good, more]) => {
    const text = JSON.stringify({ ...good, ...more });
    return fc.nat(text.length).map((cut) => text.slice(0, cut));
  }),
);
const text = fc.oneof(leaf.map(String), fc.string({ unit: 'binary', maxLength: 30 }));
const encoded = text.map((one) => encodeURIComponent(one.toWellFormed()) || '-');
const query = fc
  .array(fc.tuple(name, text), { maxLength: 5 })
  .map((pairs) =>
    pairs
      .map(([key, value]) => `${encodeURIComponent(key.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`)
      .join('&'),
  );
const headerValue = fc.oneof(
  fc.constantFrom('', '1', '0', '1.1', 'x'.repeat(300), '99999999999999999', 'gzip', 'chunked'),
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code === 0x7f ? 0x80 : code)),
    maxLength: 30,
  }),
);
const headers = fc.dictionary(
  fc.constantFrom(
    'idempotency-key',
    'last-event-id',
    'accept',
    'content-encoding',
    'if-none-match',
    'range',
    'x-forwarded-host',
    'x-http-method-override',
    'cookie',
    'upgrade-insecure-requests',
    'x-session-token',
  ),
  headerValue,
  { maxKeys: 3 },
);
const contentType = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json; charset=latin1',
  'text/plain',
  'multipart/form-data',
  '',
);

/** Only the head of a stream is read. */
async function ask(
  node: NodeScene,
  options: { method: string; path: string; headers: object; body?: string | Buffer },
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(node.service.address);
  const { body: sent = '', ...rest } = options;
  const asking = request({
    hostname,
    port,
    agent: false,
    ...rest,
    headers: { ...rest.headers, authorization: `Bearer ${node.admin}` },
  });
  asking.end(sent);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const status = answer.statusCode ?? 0;
  if (answer.headers['content-type']?.startsWith('text/event-stream')) {
    answer.on('error', () => {}).destroy();
    return { status, text: '' };
  }
  return { status, text: Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString() };
}

/** A node with one of everything, and what it has complained of. */
async function scene(t: TestContext): Promise<{ node: NodeScene; complaints: unknown[]; id: string }> {
  const complaints: unknown[] = [];
  const note = (...said: unknown[]): void => void complaints.push(said);
  const node = await nodeScene(t, { log: { info: () => {}, warn: note, error: note } });
  await node.engine.limits.set('api', { concurrent: 1 });
  await node.engine.workers.register({ name: 'w', incarnation: 'i', slots: 1 });
  const { id } = await node.engine.push({ queue: 'q', handler: 'h', limits: ['api'] });
  return { node, complaints, id };
}

test('no request of the right form with nonsense in it is more than refused', async (t) => {
  const { node, complaints, id } = await scene(t);
  const part = fc.oneof(encoded, fc.constantFrom(id, '1', '2', 'q', 'api', 'w'));
  const statuses = new Map<number, number>();
  const one = fc.record({
    route: fc.constantFrom(...ALL),
    parts: fc.array(part, { minLength: 3, maxLength: 3 }),
    query,
    headers,
    contentType,
    body,
  });
  await fc.assert(
    fc.asyncProperty(
      one,
      async ({ route: [routeName, route], parts, query: asked, headers: more, contentType: type, body: sent }) => {
        let n = 0;
        const path = route.path.replace(/\{\w+\}/g, () => parts[n++] ?? 'x') + (asked === '' ? '' : `?${asked}`);
        const hasBody = route.method !== 'GET';
        const { status, text: answer } = await ask(node, {
          method: route.method,
          path,
          headers: {
            ...more,
            ...(hasBody && type !== '' ? { 'content-type': type } : {}),
            // Node says no length for DELETE by itself: the body would be taken for the next request.
            ...(hasBody ? { 'content-length': Buffer.byteLength(sent) } : {}),
          },
          ...(hasBody ? { body: sent } : {}),
        });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        assert.ok(status >= 200 && status < 500, `${routeName}: ${status} ${answer}`);
        if (status < 400) return;
        const refusal = JSON.parse(answer);
        // The endpoints of JSON-RPC refuse in its words what has come as far as them.
        if ((route.rpc || route.methods) && refusal.jsonrpc === '2.0')
          assert.ok(refusal.error.code <= (route.rpc ? -32001 : -32000), answer);
        else assert.equal((route.plain ? PlainProblem : Problem).safeParse(refusal).error, undefined, answer);
      },
    ),
    { numRuns: scaled(1000, 20_000) },
  );
  assert.deepEqual(complaints, []);
  assert.ok(
    (statuses.get(200) ?? 0) + (statuses.get(201) ?? 0) > 20,
    `it is not all refused: ${JSON.stringify([...statuses])}`,
  );
});

test('bytes that are nearly a request end no more than their connection', async (t) => {
  const { node, complaints, id } = await scene(t);
  const { hostname, port } = new URL(node.service.address);
  const good = `POST /api/v1/tasks/${id}/cancel?x=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${node.admin}\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"dryRun":true}`;
  const change = fc.record({ at: fc.nat(good.length), cut: fc.nat(6), put: fc.uint8Array({ maxLength: 8 }) });
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 400 }).map((some) => Buffer.from(some)),
    fc
      .array(change, { minLength: 1, maxLength: 4 })
      .map((changes) =>
        changes.reduce(
          (text, { at, cut, put }) => Buffer.concat([text.subarray(0, at), put, text.subarray(at + cut)]),
          Buffer.from(good),
        ),
      ),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (sent) => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.end(sent);
      const answer = Buffer.concat(await Array.fromAsync(socket as AsyncIterable<Buffer>).catch(() => [])).toString(
        'latin1',
      );
      assert.doesNotMatch(answer, /^HTTP\/1\.1 5/, answer);
    }),
    { numRuns: scaled(300, 10_000) },
  );
  assert.equal((await node.ask('/healthz', { token: null })).status, 200);
  assert.deepEqual(complaints, []);
});
