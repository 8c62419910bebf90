import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { messagesOf, nodeScene } from '../../../test/support/node-scene.ts';
import { Roster } from '../../engine/duties/roster.ts';
import { Engine } from '../../engine/engine.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Grant } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { EventBroadcaster } from '../events/event-broadcaster.ts';
import { Metrics } from './metrics.ts';

/** From the Debian package prometheus. */
const PROMTOOL = 'promtool';

/** The figures in a text of Prometheus. */
class Figures {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get(name: string): number | undefined {
    const line = this.text.split('\n').find((one) => one.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  }

  get types(): ReadonlyMap<string, string> {
    return new Map([...this.text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  }
}

/** A real engine in a world whose time stands still, and the figures of it. */
async function scene(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const engine = new Engine({ store, world });
  const roster = new Roster({ engine, holder: 'test' });
  const unheld = new Map([['cron', 0]]);
  const place = {
    heldDuties: () => ['reaper'],
    leads: () => true,
    unheld: () => unheld,
    silence: undefined,
    audit: () => ({ failures: 0, skipped: 0 }),
    connected: () => 7,
  };
  const metrics = new Metrics(engine, place);
  const broadcaster = new EventBroadcaster(engine, (event) => metrics.count(event));
  broadcaster.start();
  await world.settle();
  t.after(async () => {
    await broadcaster.close();
    await roster.stop();
    await store.close();
  });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 99 });
  const claim = async (task: number): Promise<Grant> => {
    const [grant] = await engine.claim({ worker, max: 1, task });
    assert.ok(grant);
    return grant;
  };
  const figures = async (): Promise<Figures> => {
    engine.hint();
    await world.settle();
    return new Figures(await metrics.text());
  };
  return { world, engine, roster, metrics, claim, figures, unheld };
}

test('the figures have the documented names, each with a help and a type, in the form that Prometheus reads', async (t) => {
  const { engine, metrics, figures } = await scene(t);
  await engine.limits.set('api', { concurrent: 1 });
  await engine.push({ queue: 'q', handler: 'h', limits: ['api'] });
  metrics.request('listTasks', 200, 0.003);
  const found = await figures();
  for (const name of [
    'workers_online',
    'workers_connected',
    'worker_slots',
    'claim_duration_seconds',
    'renewal_duration_seconds',
    'task_start_delay_seconds',
    'queue_oldest_ready_age_seconds',
    'limit_capacity',
    'leader',
    'lease_expired_count_total',
    'step_retry_count_total',
    'leases_granted_total',
    'tasks_pushed_total',
    'tasks_completed_total',
    'tasks_failed_total',
    'tasks_cancelled_total',
    'queue_tasks',
    'limit_active',
    'limit_waiting_tasks',
    'duty_held',
    'http_request_duration_seconds',
  ]) {
    assert.ok(found.types.has(`leasehold_${name}`), name);
    assert.match(found.text, new RegExp(`^# HELP leasehold_${name} \\S`, 'm'));
  }
  for (const [name, type] of found.types) assert.equal(type === 'counter', name.endsWith('_total'), name);
  for (const line of found.text.split('\n')) {
    if (line !== '') assert.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"\\\n]*",?)+\})? [-+\d.eInf]+)$/);
  }
});

test('the reference page lists exactly the figures that there are, with their kinds and meanings', async (t) => {
  const { text, types } = await (await scene(t)).figures();
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = '', help = '']) => [name, help]));
  const page = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(leasehold_\w+)` \| (\w+) \| (.+) \|$/gm)].map((row) => row.slice(1));
  const told = [...types].map(([name, type]) => [
    name,
    type,
    helps.get(name)?.replace(', since this node started', ''),
  ]);
  const byName = (a: readonly unknown[], b: readonly unknown[]): number => String(a[0]).localeCompare(String(b[0]));
  assert.deepEqual(rows.toSorted(byName), told.toSorted(byName));
});

test('promtool finds nothing wrong with them', async (t) => {
  if (spawnSync(PROMTOOL, ['--version']).error !== undefined) return t.skip('promtool is not on the PATH');
  const { world, engine, roster, metrics, figures } = await scene(t);
  roster.start();
  await world.settle();
  await engine.limits.set('api', { concurrent: 1 });
  await engine.push({ queue: 'q', handler: 'h', limits: ['api'] });
  metrics.request('listTasks', 200, 0.003);
  const { text, types } = await figures();
  for (const name of types.keys())
    assert.match(text, new RegExp(`^${name}(_count)?(\\{|\\s)`, 'm'), `${name} is on the page`);
  const { status, stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], { input: text, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

test('what happened to tasks is counted, however they came to their end', async (t) => {
  const { world, engine, roster, claim, figures } = await scene(t);
  roster.start();
  await world.settle();
  const push = async (more: object = {}): Promise<number> =>
    (await engine.push({ queue: 'q', handler: 'h', retry: { baseMs: 0 }, ...more })).task;
  await engine.complete(await claim(await push()));
  await engine.fail(await claim(await push()), new Error('no'), { giveUp: true });
  const again = await claim(await push());
  await engine.fail(again, new Error('no'));
  await engine.cancel(again.task);
  // The lease of one runs out for good, and that of another under a request to stop; a third waits too long to start.
  await claim(await push({ maxAttempts: 1 }));
  const asked = await claim(await push());
  await engine.cancel(asked.task);
  await push({ waitTimeout: '10s' });
  await world.advance(60_000);
  const states = (await engine.list({ limit: 10 })).map(({ state }) => state).toSorted();
  assert.deepEqual(states, ['cancelled', 'cancelled', 'completed', 'failed', 'failed', 'failed']);
  const found = await figures();
  const total = (name: string): number | undefined => found.get(`leasehold_${name}_total`);
  assert.deepEqual([total('tasks_pushed'), total('leases_granted')], [6, 5]);
  assert.deepEqual([total('lease_expired_count'), total('step_retry_count')], [2, 1]);
  assert.deepEqual([total('tasks_completed'), total('tasks_failed'), total('tasks_cancelled')], [1, 3, 2]);
});

test('queues, limits, workers and duties are told as they are now', async (t) => {
  const { world, engine, claim, figures } = await scene(t);
  await engine.limits.set('api', { concurrent: 5 });
  const pushed = await engine.pushMany(
    Array.from({ length: 3 }, () => ({ queue: 'q', handler: 'h', limits: [{ name: 'api', weight: 2 }] })),
  );
  await engine.push({ queue: 'q', handler: 'h', delay: '1h' });
  await claim((pushed[0] as { task: number }).task);
  const found = await figures();
  const queued = (state: string): number | undefined => found.get(`leasehold_queue_tasks{queue="q",state="${state}"}`);
  assert.deepEqual(['ready', 'running', 'scheduled', 'waiting'].map(queued), [2, 1, 1, 0]);
  assert.equal(found.get('leasehold_limit_active{limit="api"}'), 2);
  assert.equal(found.get('leasehold_limit_capacity{limit="api"}'), 5);
  assert.deepEqual(
    ['busy', 'free'].map((state) => found.get(`leasehold_worker_slots{state="${state}"}`)),
    [1, 98],
  );
  assert.deepEqual([found.get('leasehold_leader'), found.get('leasehold_workers_connected')], [1, 7]);
  assert.equal(found.get('leasehold_limit_waiting_tasks{limit="api"}'), 2);
  assert.equal(found.get('leasehold_workers_online'), 1);
  assert.equal(found.get('leasehold_duty_held{duty="reaper"}'), 1);
  await engine.limits.remove('api');
  world.elapse(24 * 3_600_000);
  const later = await figures();
  assert.equal(later.get('leasehold_limit_active{limit="api"}'), undefined, 'what is gone is told no more');
  assert.equal(later.get('leasehold_workers_online'), 0);
});

test('the age of a queue is that of its oldest ready task, and what it has not is not told', async (t) => {
  const { world, engine, claim, figures } = await scene(t);
  const { task } = await engine.push({ queue: 'a', handler: 'h' });
  await engine.push({ queue: 'late', handler: 'h', delay: '1h' });
  world.elapse(1500);
  await engine.push({ queue: 'a', handler: 'urgent', priority: 9 });
  await engine.push({ queue: 'b', handler: 'h' });
  world.elapse(500);
  const age = async (queue: string): Promise<number | undefined> =>
    (await figures()).get(`leasehold_queue_oldest_ready_age_seconds{queue="${queue}"}`);
  assert.deepEqual([await age('a'), await age('b'), await age('late')], [2, 0.5, undefined]);
  await claim(task);
  assert.equal(await age('a'), 0.5);
});

test('how long claims, renewals and first starts took is told as distributions', async (t) => {
  const { world, engine, claim, figures } = await scene(t);
  const real = engine.store.taskClaim.bind(engine.store);
  t.mock.method(engine.store, 'taskClaim', (params: Parameters<typeof real>[0]) => {
    world.elapse(30);
    return real(params);
  });
  const { task } = await engine.push({ queue: 'q', handler: 'h' });
  world.elapse(3970);
  const grant = await claim(task);
  await engine.renew(grant);
  await engine.fail(grant, 'no', { retryAfterMs: 0 });
  await claim(task);
  const found = await figures();
  const told = (name: string, more: string): number | undefined => found.get(`leasehold_${name}_seconds_${more}`);
  assert.deepEqual([told('task_start_delay', 'count'), told('task_start_delay', 'sum')], [1, 4]);
  assert.equal(told('renewal_duration', 'count'), 1);
  assert.deepEqual([told('claim_duration', 'count'), told('claim_duration', 'sum')], [2, 0.06]);
  const worker = await engine.workers.register({ name: 'v', incarnation: 'v', slots: 1 });
  await engine.push({ queue: 'q', handler: 'h' });
  assert.equal((await engine.claim({ worker, max: 1 })).length, 1);
  // The first finds the lane empty, the second knows that it is.
  for (let twice = 0; twice < 2; twice++) assert.deepEqual(await engine.claim({ worker, max: 1 }), []);
  const later = await figures();
  assert.equal(later.get('leasehold_claim_duration_seconds_count'), 4, 'who finds no lane asks no store');
});

test('of more than two hundred queues and limits the rest is added up', async (t) => {
  const { engine, figures } = await scene(t);
  const name = (kind: string, i: number): string => `${kind}${String(i).padStart(4, '0')}`;
  for (let i = 0; i < 250; i++) await engine.limits.set(name('l', i), { concurrent: 1 });
  await engine.pushMany(
    Array.from({ length: 1250 }, (_, i) => ({ queue: name('q', i), handler: 'h', limits: [name('l', i % 250)] })),
  );
  const found = await figures();
  const labels = (figure: string): number =>
    new Set(found.text.match(new RegExp(`^leasehold_${figure}\\{\\w+="[^"]*"`, 'gm'))).size;
  assert.deepEqual([labels('queue_tasks'), labels('limit_waiting_tasks')], [201, 201]);
  assert.equal(found.get('leasehold_queue_tasks{queue="(others)",state="ready"}'), 1050);
  await engine.pushMany(Array.from({ length: 9 }, () => ({ queue: name('q', 1249), handler: 'h' })));
  const busiest = (await figures()).get(`leasehold_queue_tasks{queue="${name('q', 1249)}",state="ready"}`);
  assert.equal(busiest, 10, 'the busiest have a label of their own');
  assert.equal(found.get('leasehold_limit_waiting_tasks{limit="(others)"}'), 250);
  const sum = [...found.text.matchAll(/^leasehold_queue_tasks\{.*\} (\d+)$/gm)].reduce(
    (all, [, n]) => all + Number(n),
    0,
  );
  assert.equal(sum, 1250);
});

test('scrapes at the same time do not spoil each other', async (t) => {
  const { engine, metrics, figures } = await scene(t);
  await engine.pushMany(Array.from({ length: 50 }, (_, i) => ({ queue: `q${i}`, handler: 'h' })));
  const { text } = await figures();
  const texts = await Promise.all(Array.from({ length: 20 }, () => metrics.text()));
  for (const one of texts) assert.equal(one, text);
});

test('requests are told by route and status, what has no route as one, and streams not at all', async (t) => {
  const node = await nodeScene(t, { world: new VirtualWorld(), duties: false, housekeeping: false });
  const { task, id } = await node.engine.push({ queue: 'q', handler: 'h' });
  await node.call('listTasks', '/api/v1/tasks');
  for (let i = 0; i < 5; i++) await node.ask(`/api/v1/${crypto.randomUUID()}`);
  await node.ask('/api/v1/queues', { token: null });
  await node.call('readLog', `/api/v1/tasks/${id}/logs`);
  const follower = messagesOf(
    await fetch(node.url(`/api/v1/tasks/${id}/logs?follow=1`), { headers: node.headers({}) }),
  );
  await node.engine.cancel(task);
  assert.equal((await follower.next()).done, true);
  const found = new Figures(await node.call('metrics', '/metrics'));
  const count = (route: string, status: number): number | undefined =>
    found.get(`leasehold_http_request_duration_seconds_count{route="${route}",status="${status}"}`);
  assert.deepEqual([count('listTasks', 200), count('none', 404), count('listQueues', 401)], [1, 5, 1]);
  assert.equal(count('readLog', 200), 1, 'how long a stream lasts says nothing about how fast answers are');
  assert.doesNotMatch(found.text, /[0-9a-f]{8}-[0-9a-f]{4}/);
});

test('the figures of a cluster say who leads, how the nodes are, and how long a duty has been without a holder', async (t) => {
  const { world, engine, figures, unheld } = await scene(t);
  const { store } = engine;
  const beat = (id: string): Promise<unknown> =>
    store.nodeBeat({ id, incarnation: id, first: true, wish: 'auto', stand: 'worker' });
  await beat('dead');
  world.elapse(60_000);
  await beat('stale');
  world.elapse(61_000);
  await beat('one');
  await beat('two');
  for (const holder of ['one/1', 'two/1']) {
    const term = await store.dutyTake({ name: 'leader', holder, ttlMs: 1000 });
    assert.ok(term);
    if (holder === 'one/1') await store.dutyRelease({ duty: term });
  }
  unheld.set('cron', 2500);
  const seen = await figures();
  assert.equal(seen.get('leasehold_leader'), 1);
  assert.equal(seen.get('leasehold_leader_epoch'), 2);
  for (const [state, count] of Object.entries({ healthy: 2, stale: 1, dead: 1, left: 0 })) {
    assert.equal(seen.get(`leasehold_nodes{state="${state}"}`), count, state);
  }
  assert.equal(seen.get('leasehold_duty_unheld_seconds{duty="cron"}'), 2.5);
});
