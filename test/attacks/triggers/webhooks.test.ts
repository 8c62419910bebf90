/** Attacks on webhooks: deliveries that are forged, played again, too many, or not what they seem. Each on both stores where the store decides. */
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { ServeOptions } from '../../../src/app/serve.ts';
import { ClusterSecret } from '../../../src/operate/cluster-secret.ts';
import { HookSecrets } from '../../../src/operate/triggers/hook-secrets.ts';
import { type Answer, type NodeScene, nodeScene, TEST_SECRET } from '../../support/node-scene.ts';
import { bytes, STORES, target } from '../scene.ts';

const MINUTE = 60_000;
const PATH = '/api/v1/hooks/paid';
const BODY = '{"order":7}';

interface Sent {
  readonly id?: string;
  readonly at?: number;
  readonly body?: string;
  readonly secret?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** As its sender signs it. */
function signed(
  secret: string,
  { id = randomUUID(), at = Date.now(), body = BODY }: Sent = {},
): Record<string, string> {
  const time = Math.floor(at / 1000);
  const mac = createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('hex');
  return { 'x-leasehold-id': id, 'x-leasehold-signature': `t=${time},v1=${mac}` };
}

interface Hook {
  readonly node: NodeScene;
  readonly secret: string;
  readonly set: (aheadMs: number) => void;
  readonly send: (sent?: Sent) => Promise<Answer>;
  /** How many tasks its deliveries have pushed. */
  readonly pushed: () => Promise<number>;
}

async function hook(t: TestContext, options: Partial<ServeOptions> = {}, trigger: object = {}): Promise<Hook> {
  const { node, set } = await target(t, options);
  const put = await node.call('putTrigger', '/api/v1/triggers', {
    body: { name: 'paid', kind: 'webhook', push: { queue: 'orders' }, ...trigger },
  });
  return { ...hookOn(node, put.newSecret), set };
}

function hookOn(node: NodeScene, secret: string): Omit<Hook, 'set'> {
  return {
    node,
    secret,
    send: ({ path = PATH, body = BODY, headers, ...sent } = {}) =>
      node.ask(path, { body, token: null, headers: headers ?? signed(sent.secret ?? secret, { ...sent, body }) }),
    pushed: async () => (await node.call('listTasks', '/api/v1/tasks?queue=orders')).tasks.length,
  };
}

/** Without a task, a line or a word on what was wrong. */
async function refusedAll(one: Omit<Hook, 'set'>, answers: readonly Answer[]): Promise<void> {
  const told = new Set(
    answers.map(({ status, body }) => JSON.stringify([status, body.error.code, body.error.message])),
  );
  assert.deepEqual([...told], [JSON.stringify([404, 'NOT_FOUND', answers[0]?.body.error.message])]);
  assert.equal(await one.pushed(), 0);
  const { history } = await one.node.call('triggerHistory', '/api/v1/triggers/paid/history');
  assert.deepEqual(history, []);
}

test('A36: a delivery that is signed over id, time and body fires its trigger, and its task is given the body', async (t) => {
  const { node, send } = await hook(t);
  const { status, body } = await send();
  assert.deepEqual([status, body.fresh, body.outcome], [202, true, 'pushed']);
  const task = await node.call('getTask', `/api/v1/tasks/${body.id}`);
  assert.deepEqual([task.queue, task.input], ['orders', { body: { order: 7 } }]);
});

test('A36: forged deliveries are refused, all in the same words, and leave nothing', async (t) => {
  const one = await hook(t);
  const { secret, send, node } = one;
  const good = signed(secret, { id: 'd1' });
  const [time = ''] = /\d+/.exec(good['x-leasehold-signature'] as string) ?? [];
  const mac = /[0-9a-f]{64}/.exec(good['x-leasehold-signature'] as string)?.[0] ?? '';
  const withSignature = (value: string, id = 'd1'): Promise<Answer> =>
    send({ headers: { 'x-leasehold-id': id, 'x-leasehold-signature': value } });
  const flipped = `${mac.startsWith('0') ? '1' : '0'}${mac.slice(1)}`;
  const answers = [
    await send({ secret: `${secret}x` }),
    await send({ secret: '' }),
    await send({ headers: {} }),
    await send({ headers: good, body: '{"order":8}' }),
    await send({ headers: good, body: `${BODY} ` }),
    await send({ headers: { ...good, 'x-leasehold-id': 'd2' } }),
    await withSignature(`t=${Number(time) + 1},v1=${mac}`),
    await withSignature(`t=${time},v1=${flipped}`),
    await withSignature(`t=${time},v1=${mac.slice(1)}`),
    await withSignature(`t=${time},v1=${mac.toUpperCase()}`),
    await withSignature(`t=${time},v0=${mac}`),
    await withSignature(`t=${time},t=${time},v1=${mac}`),
    await withSignature(`t=${time}`),
    await withSignature(`v1=${mac}`),
    await withSignature(`t=${time},${`v1=${flipped},`.repeat(50)}v1=${mac}`),
    await withSignature(`t=1e9,v1=${mac}`),
    await withSignature(`t=${time},v1=${mac}`, 'x'.repeat(201)),
    // The words of other senders are not taken by a trigger that has not asked for them.
    await send({
      headers: { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(BODY).digest('hex')}` },
    }),
    await send({
      headers: {
        'stripe-signature': `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${BODY}`).digest('hex')}`,
      },
    }),
  ];
  await refusedAll(one, answers);
  // A key of one trigger opens no other, and a name that is not there is refused in the same way.
  const other = await node.call('putTrigger', '/api/v1/triggers', {
    body: { name: 'other', kind: 'webhook', push: { queue: 'orders' } },
  });
  assert.notEqual(other.newSecret, secret);
  const crossed = [await send({ secret: other.newSecret }), await send({ path: '/api/v1/hooks/none' })];
  assert.deepEqual(
    crossed.map(({ status }) => status),
    [404, 404],
  );
  assert.equal(await one.pushed(), 0);
});

test('A36: a delivery is as old as its window at most, whatever the clock of its sender says', async (t) => {
  const one = await hook(t, {}, { window: '1m' });
  const { send } = one;
  const answers = [];
  for (const off of [-2 * MINUTE, -61_500, 61_500, 2 * MINUTE, 100 * 365 * 24 * 60 * MINUTE]) {
    answers.push(await send({ at: Date.now() + off }));
  }
  await refusedAll(one, answers);
  assert.equal((await send({ at: Date.now() - 50_000 })).status, 202);
  assert.equal((await send({ at: Date.now() + 50_000 })).status, 202);
});

for (const [kind, store] of Object.entries(STORES)) {
  test(`A36: a delivery that is played again acts once, on whichever node and however many at once (${kind})`, async (t) => {
    const url = await store();
    const one = await hook(t, { store: url });
    const other = hookOn(await nodeScene(t, { store: url }), one.secret);
    const headers = signed(one.secret, { id: 'again' });
    const first = await one.send({ headers });
    assert.deepEqual([first.status, first.body.fresh], [202, true]);
    for (const { send } of [one, other, one]) {
      const { status, body } = await send({ headers });
      assert.deepEqual([status, body.fresh, body.id], [202, false, first.body.id]);
    }
    // Signed anew, as a sender does that tries again; and many at once on both nodes.
    assert.equal((await other.send({ id: 'again' })).body.fresh, false);
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : other).send({ id: 'burst' })),
    );
    assert.equal(many.filter(({ body }) => body.fresh === true).length, 1);
    assert.equal(await one.pushed(), 2);
  });
}

test('A36: a captured delivery is refused by its time once its id is forgotten', async (t) => {
  const { node, secret, set, send, pushed } = await hook(t);
  const headers = signed(secret, { id: 'captured' });
  assert.equal((await send({ headers })).status, 202);
  set(25 * 60 * MINUTE);
  assert.equal((await send({ headers })).status, 404);
  assert.equal(await pushed(), 1);
  assert.equal((await node.ask('/readyz')).status, 200);
});

test('A36: GitHub and Stripe are known by what they sign: a new id or time in the head makes no new delivery', async (t) => {
  const { node } = await target(t);
  const put = (name: string, signature: string): Promise<{ newSecret: string }> =>
    node.call('putTrigger', '/api/v1/triggers', {
      body: { name, kind: 'webhook', signature, push: { queue: 'orders' } },
    });
  const hub = (await put('hub', 'github')).newSecret;
  const body = '{"action":"opened"}';
  const mac = createHmac('sha256', hub).update(body).digest('hex');
  const github = (delivery: string): Promise<Answer> =>
    node.ask('/api/v1/hooks/hub', {
      body,
      token: null,
      headers: { 'x-hub-signature-256': `sha256=${mac}`, 'x-github-delivery': delivery },
    });
  assert.deepEqual([(await github('1')).body.fresh, (await github('2')).body.fresh], [true, false]);
  const pay = (await put('pay', 'stripe')).newSecret;
  const stripe = (at: number, event: string): Promise<Answer> => {
    const time = Math.floor(at / 1000);
    const v1 = createHmac('sha256', pay).update(`${time}.${event}`).digest('hex');
    const headers = { 'stripe-signature': `t=${time},v1=${'0'.repeat(64)},v1=${v1},v0=x` };
    return node.ask('/api/v1/hooks/pay', { body: event, token: null, headers });
  };
  const now = Date.now();
  const answers = [
    await stripe(now, '{"id":"evt_1"}'),
    await stripe(now - 30_000, '{"id":"evt_1"}'),
    await stripe(now, '{"id":"evt_2"}'),
    await stripe(now, '{"n":1}'),
    await stripe(now, '{"n":1}'),
  ];
  assert.deepEqual(
    answers.map(({ body }) => body.fresh),
    [true, false, true, true, false],
  );
  assert.equal((await stripe(now - 10 * MINUTE, '{"id":"evt_3"}')).status, 404);
});

test('A36: a secret that was replaced signs nothing any more, on each node', async (t) => {
  const store = await STORES.sqlite();
  const one = await hook(t, { store });
  const other = hookOn(await nodeScene(t, { store }), one.secret);
  const { newSecret } = await one.node.call('rotateTrigger', '/api/v1/triggers/paid/rotate', { method: 'POST' });
  assert.notEqual(newSecret, one.secret);
  assert.deepEqual([(await one.send()).status, (await other.send()).status], [404, 404]);
  assert.deepEqual([(await other.send({ secret: newSecret })).status], [202]);
});

test('A36: a trigger that is off or of another kind takes no delivery', async (t) => {
  const one = await hook(t);
  await one.node.call('disableTrigger', '/api/v1/triggers/paid/disable', { method: 'POST' });
  await refusedAll(one, [await one.send()]);
  await one.node.call('enableTrigger', '/api/v1/triggers/paid/enable', { method: 'POST' });
  assert.equal((await one.send()).status, 202);
  await one.node.call('putTrigger', '/api/v1/triggers', {
    body: { name: 'paid', kind: 'manual', push: { queue: 'orders' } },
  });
  assert.equal((await one.send()).status, 404);
});

test('A36: neither the store nor any answer tells a secret: it is told once, where it was made', async (t) => {
  const { node, secret } = await hook(t);
  await node.call('putTrigger', '/api/v1/triggers', {
    body: { name: 'own', kind: 'webhook', secret: { value: 'chosen by its sender' }, push: { queue: 'q' } },
  });
  const told = [
    await node.ask('/api/v1/triggers'),
    await node.ask('/api/v1/triggers/paid'),
    await node.ask('/api/v1/triggers/own'),
    await node.ask('/api/v1/triggers', { body: { name: 'paid', kind: 'webhook', push: { queue: 'orders' } } }),
  ].map(({ body }) => JSON.stringify(body));
  const rows = JSON.stringify(await node.engine.store.reactionList());
  for (const text of [...told, rows]) {
    assert.ok(!text.includes(secret) && !text.includes(secret.slice('lh_hook_'.length)));
    assert.ok(!text.includes('chosen by'));
  }
  // Whoever reads the store but has not the secret of the cluster signs nothing with what lies there.
  const stranger = new HookSecrets(new ClusterSecret('another secret', node.engine.store.clusterKey), {});
  const ours = new HookSecrets(new ClusterSecret(TEST_SECRET.read(), node.engine.store.clusterKey), {});
  for (const name of ['paid', 'own']) {
    const { trigger } = await node.engine.triggers.get(name);
    assert.notEqual(stranger.read(name, trigger.secret), ours.read(name, trigger.secret));
    assert.equal(ours.read('elsewhere', trigger.secret) === ours.read(name, trigger.secret), false);
  }
  // Nobody proves what a variable of the node holds by signing with it.
  const probe = await node.ask('/api/v1/triggers', {
    body: { name: 'probe', kind: 'webhook', secret: { env: 'PATH' }, push: { queue: 'q' } },
  });
  assert.equal(probe.status, 400);
});

test('A36: a flood to one trigger is answered with 429 and a time, before a body is read, and others are served', async (t) => {
  const { node, send, pushed } = await hook(t, { strangers: { perSecond: 0, burst: 0, refusedMs: 0, answeredMs: 0 } });
  const answers = await Promise.all(Array.from({ length: 150 }, () => send({ headers: {} })));
  const flooded = answers.filter(({ status }) => status === 429);
  assert.ok(flooded.length >= 30, `${flooded.length} of ${answers.length} were told to wait`);
  for (const { headers, body } of flooded) {
    assert.equal(body.error.code, 'TOO_MANY');
    assert.ok(Number(headers.get('retry-after')) >= 1);
  }
  const { head } = await bytes(
    t,
    node,
    `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 200000`,
  );
  assert.match(head, /^http\/1\.1 (429|404)/i, 'not a byte of its body was sent');
  assert.equal((await node.ask('/api/v1/triggers')).status, 200);
  assert.equal(await pushed(), 0);
});

test('A36: a sender that signs well fires no more often than its trigger may', async (t) => {
  const { send, pushed, node } = await hook(t, {}, { rate: 5 });
  const answers = [];
  for (let i = 0; i < 8; i++) answers.push(await send());
  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 202, 202, 202, 202, 429, 429, 429],
  );
  assert.ok(Number(answers.at(-1)?.headers.get('retry-after')) >= 1);
  assert.equal(await pushed(), 5);
  const { history } = await node.call('triggerHistory', '/api/v1/triggers/paid/history');
  assert.equal(history.length, 5, 'what was refused leaves no line');
});

test('A36: a body is bounded, and looked at only after its signature was', async (t) => {
  const { send, pushed, node, secret } = await hook(t);
  const large = `"${'x'.repeat(262_200)}"`;
  assert.equal((await send({ body: large })).status, 413);
  for (const body of ['{', '{"a":1', 'nothing', `${'['.repeat(200)}${']'.repeat(200)}`, '9007199254740993']) {
    assert.equal((await send({ body })).status, 400, body.slice(0, 20));
    assert.equal((await send({ body, secret: 'of somebody else' })).status, 404, 'a stranger hears nothing of it');
  }
  // Bytes that are no text are not what was signed, whatever they are read as.
  const raw = Buffer.from([0x22, 0xff, 0x22]);
  const { status } = await fetch(node.url(PATH), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...signed(secret, { body: raw.toString('latin1') }) },
    body: raw,
  });
  assert.equal(status, 404);
  assert.equal(await pushed(), 0);
  assert.equal((await send()).status, 202);
});

test('A36: a trigger gives what a delivery says to its action as data, and nothing else of it', async (t) => {
  const { send, node } = await hook(t, {}, { input: { body: 'mine', kept: 1 } });
  assert.equal((await send({ body: '{"__proto__":{"queue":"stolen"}}' })).status, 400);
  const body = '{"queue":"stolen","input":{"queue":"stolen"},"kept":2,"body":3}';
  const { body: fired } = await send({ body });
  const task = await node.call('getTask', `/api/v1/tasks/${fired.id}`);
  assert.deepEqual([task.queue, task.input.kept, Object.keys(task.input)], ['orders', 1, ['body', 'kept']]);
  assert.equal(({} as { queue?: string }).queue, undefined);
});
