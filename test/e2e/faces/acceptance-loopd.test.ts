/**
 * What loopd asks for, case by case, of a real node over HTTP alone: its runs are tasks here, its workspaces queues, its steps
 * tasks that a worker has claimed.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../chaos/survivors.ts';
import { type Running, run, temporaryFolder } from '../../support/leasehold.ts';
import { messagesOf, type Wire } from '../../support/node-scene.ts';

const TOKEN = 'an-admin-token-of-a-test';
const PATIENCE_MS = 60_000;
/** By its number: of an id that none of ours can be it is said that it is none. */
const UNKNOWN = '999999';

interface Reply {
  readonly status: number;
  readonly body: Wire;
}

interface Asking {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Post = (path: string, body?: object) => Promise<Reply>;

class Controller {
  readonly #t: TestContext;
  readonly #cwd: string;
  readonly #lease: string;
  #node: Running;
  #address = '';

  get address(): string {
    return this.#address;
  }

  constructor(t: TestContext, lease: string) {
    this.#t = t;
    this.#lease = lease;
    this.#cwd = temporaryFolder(t);
    this.#node = this.#start(0);
  }

  async open(): Promise<this> {
    this.#address = await this.#node.address();
    return this;
  }

  async killAndRestart(): Promise<void> {
    this.#node.child.kill('SIGKILL');
    await this.#node.ended;
    this.#node = this.#start(Number(new URL(this.#address).port));
    await this.#node.address();
  }

  fetch(path: string, init: Asking = {}): Promise<Response> {
    return fetch(this.#address + path, { ...init, headers: { authorization: `Bearer ${TOKEN}`, ...init.headers } });
  }

  get = async (path: string): Promise<Reply> => replyOf(await this.fetch(path));

  post: Post = async (path, body = {}) => replyOf(await this.fetch(path, posting(body)));

  async task(queue: string, more: object = {}): Promise<Wire> {
    const { status, body } = await this.post('/api/v1/tasks', { queue, handler: queue, ...more });
    assert.equal(status, 201);
    return body;
  }

  async state(id: string): Promise<string> {
    return (await this.get(`/api/v1/tasks/${id}`)).body.state;
  }

  /** A worker that runs what is in this queue. */
  async worker(
    name: string,
    phase: string,
  ): Promise<{ readonly id: string; readonly post: Post; readonly claim: () => Promise<Wire> }> {
    const { secret } = (await this.post('/api/v1/workers', { name })).body;
    const said = posting({ hostname: 'elsewhere', capabilities: [phase] });
    const registered = await this.fetch('/workers/register', {
      ...said,
      headers: { ...said.headers, authorization: `Bearer ${secret}` },
    });
    const { worker_id: id, session_token: token } = (await registered.json()) as Wire;
    const post: Post = async (path, body = {}) => {
      const { headers, ...rest } = posting(body);
      return replyOf(await fetch(this.#address + path, { ...rest, headers: { ...headers, 'x-session-token': token } }));
    };
    const claim = async (): Promise<Wire> => {
      const { status, body } = await post(`/workers/${id}/claim`, { wait_ms: 30_000 });
      assert.equal(status, 200);
      return body[0];
    };
    return { id, post, claim };
  }

  #start(port: number): Running {
    const flags = ['--no-worker', '--json', '--port', String(port), '--lease-duration', this.#lease];
    return run(this.#t, ['up', ...flags], { cwd: this.#cwd, env: { LEASEHOLD_TOKEN: TOKEN } });
  }
}

function posting(body: object): Required<Asking> {
  return { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

const done = (step: Wire, more: object = {}): object => ({
  lease_token: step.lease_token,
  status: 'succeeded',
  ...more,
});
const proof = (step: Wire): object => ({ step_id: step.step_id, lease_token: step.lease_token });

test('loopd: runs, their streams, who is let in, and claims', async (t) => {
  const controller = await new Controller(t, '30s').open();
  const { get, post } = controller;

  await t.test('1. what is created is listed and read, by workspace, and an unknown id is not found', async () => {
    const one = await controller.task('alpha', { input: { a: 1 } });
    const other = await controller.task('beta');
    const listed = async (query: string): Promise<string[]> =>
      (await get(`/api/v1/tasks${query}`)).body.tasks.map(({ id }: Wire) => id);
    assert.deepEqual(await listed(''), [other.id, one.id]);
    assert.deepEqual(await listed('?queue=alpha'), [one.id]);
    const read = await get(`/api/v1/tasks/${one.id}`);
    assert.deepEqual([read.status, read.body.state, read.body.input], [200, 'ready', { a: 1 }]);
    assert.equal((await get(`/api/v1/tasks/${UNKNOWN}`)).status, 404);
  });

  await t.test(
    '2. pause, resume and cancel do what they say, and leave alone what has ended or is not there',
    async () => {
      const worker = await controller.worker('two', 'gamma');
      const first = await controller.task('gamma');
      assert.equal((await post('/api/v1/queues/gamma/pause')).body.paused, true);
      assert.equal((await worker.post(`/workers/${worker.id}/claim`)).status, 204);
      assert.equal(await controller.state(first.id), 'ready');
      assert.equal((await post('/api/v1/queues/gamma/resume')).body.paused, false);
      const step = await worker.claim();
      assert.equal(await controller.state(first.id), 'running');
      assert.equal((await worker.post(`/steps/${step.step_id}/complete`, done(step))).status, 200);
      const waiting = await controller.task('gamma');
      assert.deepEqual((await post(`/api/v1/tasks/${waiting.id}/cancel`)).body.counts, { cancelled: 1 });
      assert.equal(await controller.state(waiting.id), 'cancelled');
      assert.deepEqual((await post(`/api/v1/tasks/${first.id}/cancel`)).body.counts, { finished: 1 });
      assert.equal(await controller.state(first.id), 'completed', 'what has completed stays so');
      assert.equal((await post('/api/v1/queues/nobodys/resume')).status, 404);
      assert.equal((await post(`/api/v1/tasks/${UNKNOWN}/cancel`)).status, 404);
    },
  );

  await t.test(
    '3. events come as a stream: the history first, then what happens, and behind a position only the rest',
    async () => {
      const worker = await controller.worker('three', 'delta');
      const { id } = await controller.task('delta');
      const response = await controller.fetch(`/api/v1/events?after=0&task=${id}`);
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      const messages = messagesOf(response);
      const next = async (): Promise<Wire> => (await messages.next()).value;
      const created = await next();
      assert.equal(created.event, 'created');
      const step = await worker.claim();
      const assigned = await next();
      assert.deepEqual([assigned.data.state, assigned.data.attempt], ['running', 1]);
      await worker.post(`/steps/${step.step_id}/complete`, done(step));
      assert.equal((await next()).event, 'completed');
      await messages.return(undefined);
      const rest = messagesOf(await controller.fetch(`/api/v1/events?after=${assigned.id}&task=${id}`));
      assert.equal((await rest.next()).value?.event, 'completed');
      await rest.return(undefined);
    },
  );

  await t.test('4. output comes as a stream from any place on, and ends with the run', async () => {
    const worker = await controller.worker('four', 'epsilon');
    const { id } = await controller.task('epsilon');
    const step = await worker.claim();
    const say = (from: number, count: number): Promise<Reply> =>
      worker.post(`/steps/${step.step_id}/events`, {
        lease_token: step.lease_token,
        events: Array.from({ length: count }, (_, i) => ({
          seq: from + i,
          event_type: 'stdout',
          payload: `line ${from + i}`,
        })),
      });
    assert.deepEqual((await say(1, 3)).body, { acked_seq: 3 });
    const heard = async (query: string): Promise<string[]> => {
      const response = await controller.fetch(`/api/v1/tasks/${id}/logs?follow=1${query}`);
      return (await Array.fromAsync(messagesOf(response))).map(({ data }) => data.text);
    };
    const [all, some] = [heard(''), heard('&cursor=1.2')];
    await say(4, 2);
    await say(4, 2);
    await worker.post(`/steps/${step.step_id}/complete`, done(step));
    assert.deepEqual(await all, ['line 1', 'line 2', 'line 3', 'line 4', 'line 5'], 'a repeat adds nothing');
    assert.deepEqual(await some, ['line 3', 'line 4', 'line 5']);
    assert.deepEqual(await heard('&cursor=1.4'), ['line 5'], 'also when it is over');
  });

  await t.test(
    '5. without a token or with a wrong one nobody is let in; whether it lives everybody may ask',
    async () => {
      const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
        (await fetch(controller.address + path, { headers })).status;
      assert.equal(await status('/api/v1/tasks'), 401);
      assert.equal(await status('/api/v1/tasks', { authorization: 'Bearer wrong' }), 401);
      assert.equal(await status('/api/v1/tasks', { authorization: `Bearer ${TOKEN}` }), 200);
      assert.equal(await status('/healthz'), 200);
      const registering = posting({ hostname: 'h', capabilities: ['x'] });
      const worker = await fetch(`${controller.address}/workers/register`, registering);
      assert.equal(worker.status, 401);
    },
  );

  await t.test(
    '6. a claim finds nothing or runs what it takes, no more at once than allowed, and an end makes room',
    async () => {
      const worker = await controller.worker('six', 'zeta');
      const claimNow = (): Promise<Reply> => worker.post(`/workers/${worker.id}/claim`, { max: 5 });
      assert.equal((await claimNow()).status, 204);
      await post('/api/v1/limits', { name: 'runs', concurrent: 1 });
      const [one, two] = [
        await controller.task('zeta', { limits: ['runs'] }),
        await controller.task('zeta', { limits: ['runs'] }),
      ];
      const { body: steps } = await claimNow();
      assert.deepEqual([steps.length, steps[0].step_id], [1, one.id]);
      assert.equal(await controller.state(one.id), 'running');
      assert.equal((await claimNow()).status, 204, 'the other waits for the limit');
      await worker.post(`/steps/${one.id}/complete`, done(steps[0]));
      const next = await worker.claim();
      assert.equal(next.step_id, two.id);
      const lease = { task: next.task, attempt: next.attempt, token: next.lease_token.split('.')[1] };
      const released = await worker.post(`/workers/${worker.id}/ask`, {
        asked: [{ type: 'task_release', n: 1, lease }],
      });
      assert.deepEqual(released.body.answers, [{ type: 'ok', re: 1, value: 'ready' }]);
      assert.equal((await worker.claim()).attempt, 2, 'one that is given back makes room too');
    },
  );
});

test('loopd: what becomes of leases (15)', async (t) => {
  const controller = await new Controller(t, '3s').open();

  await t.test('15. a lease that runs out is taken back, and its late completion is refused', async () => {
    const silent = await controller.worker('silent', 'eta');
    const { id } = await controller.task('eta');
    const stale = await silent.claim();
    const other = await controller.worker('other', 'eta');
    const fresh = await other.claim();
    assert.deepEqual([fresh.step_id, fresh.attempt], [id, 2]);
    for (let twice = 0; twice < 2; twice++) {
      const late = await silent.post(`/steps/${id}/complete`, done(stale, { result: 'late' }));
      assert.deepEqual([late.status, late.body.error.code], [409, 'LEASE_LOST']);
    }
    const beat = await silent.post(`/workers/${silent.id}/heartbeat`, { leases: [proof(stale)] });
    assert.deepEqual([beat.body.renewed, beat.body.lost], [[], [id]], 'it is told to stop');
    assert.equal((await other.post(`/steps/${id}/complete`, done(fresh, { result: 'in time' }))).status, 200);
    const { body } = await controller.get(`/api/v1/tasks/${id}`);
    assert.deepEqual([body.state, body.result, body.attempt, body.tries], ['completed', 'in time', 2, 2]);
  });

  await t.test(
    '15. a worker that has gone offline loses what it held and nothing else; one that beats keeps its own',
    async () => {
      const [gone, alive] = [await controller.worker('gone', 'theta'), await controller.worker('alive', 'theta')];
      const [first, second] = [await controller.task('theta'), await controller.task('theta')];
      const [lost, kept] = [await gone.claim(), await alive.claim()];
      assert.deepEqual([lost.step_id, kept.step_id], [first.id, second.id]);
      let taken: Wire;
      const beats = async (): Promise<boolean> => {
        const { body } = await alive.post(`/workers/${alive.id}/heartbeat`, { leases: [proof(kept)] });
        assert.deepEqual(body.renewed, [kept.step_id]);
        taken ??= (await alive.post(`/workers/${alive.id}/claim`)).body?.[0];
        return taken !== undefined;
      };
      assert.ok((await until(beats, PATIENCE_MS)) !== undefined, 'the other one comes to whoever is there');
      assert.deepEqual([taken.step_id, taken.attempt], [first.id, 2]);
      for (const step of [kept, taken]) {
        assert.equal((await alive.post(`/steps/${step.step_id}/complete`, done(step))).status, 200);
      }
      const { body } = await controller.get(`/api/v1/tasks/${second.id}`);
      assert.deepEqual([body.state, body.attempt], ['completed', 1]);
    },
  );

  await t.test('15. a controller that is killed and started again keeps the leases it had given', async () => {
    const worker = await controller.worker('through', 'iota');
    const { id } = await controller.task('iota');
    const step = await worker.claim();
    await controller.killAndRestart();
    const beat = await worker.post(`/workers/${worker.id}/heartbeat`, { leases: [proof(step)] });
    assert.deepEqual([beat.status, beat.body.renewed], [200, [id]]);
    assert.equal((await worker.post(`/steps/${id}/complete`, done(step, { result: 1 }))).status, 200);
    const { body } = await controller.get(`/api/v1/tasks/${id}`);
    assert.deepEqual([body.state, body.attempt, body.tries], ['completed', 1, 1]);
  });
});
