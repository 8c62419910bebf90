/** Trees of apflow that are run by workers of ours, within the process of the node and joined to it, on both stores. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { builtinWorker } from '../../../src/app/builtin-worker.ts';
import { type NodeUrl, open } from '../../../src/app/open.ts';
import type { ServeOptions } from '../../../src/app/serve.ts';
import { tempFolder } from '../../../src/store/conformance/kit/temp-folder.ts';
import { giveUp } from '../../../src/worker/define/outcome.ts';
import { task } from '../../../src/worker/define/task.ts';
import type { Worker } from '../../../src/worker/worker.ts';
import { type NodeScene, nodeScene, type Wire } from '../../support/node-scene.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { RpcScene } from '../../support/rpc-scene.ts';

let files = 0;
const STORES: Readonly<Record<string, () => Promise<string>>> = {
  sqlite: async () => `sqlite:${join(tempFolder('acceptance-trees'), `${++files}.db`)}`,
  postgres: () => freshDatabase('acceptance_trees'),
};
const WORKERS = ['in process', 'joined'] as const;
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** Until it is so. What is waited for is the work of others; a test that waits in vain is ended by the runner. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A node, and what its workers run. */
class Grounds {
  readonly it: RpcScene;
  /** The inputs that each call got, in the order of the calls. */
  readonly ran: { readonly me: string; readonly input: Wire }[] = [];
  /** Says how a call ends: with a text as its error, or with nothing. */
  fails: (me: string) => string | undefined = () => undefined;
  readonly #t: TestContext;

  constructor(t: TestContext, it: RpcScene) {
    this.#t = t;
    this.it = it;
  }

  /** The handler is told which document it runs by `params`. */
  async worker(kind: (typeof WORKERS)[number], name: string): Promise<void> {
    const rest = task('rest', {
      run: (input: Wire) => {
        const { me } = input;
        this.ran.push({ me, input });
        const problem = this.fails(me);
        return problem === undefined ? { from: me } : giveUp(new Error(problem));
      },
    });
    const { service, admin } = this.it.node;
    if (kind === 'in process') return service.app.worker({ tasks: [rest], name, slots: 4 }).start();
    const { secret } = await this.it.node.call('createWorker', '/api/v1/workers', {
      body: { name, tags: [], code: false },
    });
    const app = await open(service.address as NodeUrl, { token: admin });
    const worker = app.worker({ tasks: [rest], name, secret, slots: 4 });
    this.#t.after(async () => {
      await worker.stop();
      await app.close();
    });
    await worker.start();
  }

  /** The documents of a tree by their ids, when all have ended. */
  async ended(root: string): Promise<ReadonlyMap<string, Wire>> {
    const flat = (one: Wire): readonly Wire[] => [one, ...one.children.flatMap(flat)];
    return until(async () => {
      const all = flat(await this.it.call('tasks.tree', { task_id: root }));
      return all.every(({ status }) => ENDED.has(status)) && new Map(all.map((one) => [one.id, one]));
    });
  }
}

const rest = (id: string, parent_id?: string, more: object = {}) => ({
  id,
  name: 'rest',
  params: { me: id },
  ...(parent_id === undefined ? {} : { parent_id }),
  ...more,
});

for (const [store, url] of Object.entries(STORES)) {
  for (const kind of WORKERS) {
    describe(`trees of apflow on ${store}, workers ${kind}`, () => {
      const grounds = async (t: TestContext, options: Partial<ServeOptions> = {}): Promise<Grounds> =>
        new Grounds(t, new RpcScene(await nodeScene(t, { store: await url(), ...options })));

      test('11: what would break a tree is refused before and while it runs, and the tree runs all the same', async (t) => {
        const here = await grounds(t);
        const { it } = here;
        const circle = [rest('r'), rest('a', 'r', { dependencies: ['b'] }), rest('b', 'r', { dependencies: ['a'] })];
        assert.equal(await it.refusal('tasks.create', circle), -32002);
        const around = ['a', 'b', 'c'].map((id, i) => rest(id, 'r', { dependencies: [['b', 'c', 'a'][i]] }));
        assert.equal(await it.refusal('tasks.create', [rest('r'), ...around]), -32002, 'through a third');
        assert.equal(await it.refusal('tasks.create', [rest('r'), rest('a', 'r', { dependencies: ['a'] })]), -32002);
        assert.equal(await it.refusal('tasks.create', [rest('r'), rest('a', 'r', { dependencies: ['z'] })]), -32011);
        await it.call('tasks.create', [rest('r'), rest('a', 'r'), rest('b', 'r', { dependencies: ['a'] })]);
        assert.equal(await it.refusal('tasks.delete', { task_id: 'a' }), -32009, 'b, which stays, depends on it');
        await it.call('tasks.execute', { task_id: 'r' });
        for (const id of ['r', 'a', 'b']) assert.equal(await it.refusal('tasks.delete', { task_id: id }), -32009);
        assert.equal(await it.refusal('tasks.update', { task_id: 'b', inputs: {} }), -32006);
        assert.equal(await it.refusal('tasks.create', rest('late', 'r')), -32010);
        await here.worker(kind, 'w1');
        const ended = await here.ended('r');
        assert.deepEqual(
          [...ended.values()].map(({ status }) => status),
          Array(3).fill('completed'),
        );
        assert.deepEqual(
          here.ran.map(({ me }) => me),
          ['a', 'b', 'r'],
        );
        assert.deepEqual(here.ran[1]?.input, { me: 'b', a: { from: 'a' } }, 'b got what a came to');
      });

      test('12: what failed runs again, what completed only when it depends on that; each error ends in failed', async (t) => {
        const here = await grounds(t);
        const { it } = here;
        const errors = ['validation', 'config', 'business', 'runtime', 'timeout', 'connection'];
        await it.call('tasks.create', [
          rest('r'),
          rest('base', 'r'),
          ...errors.map((id) => rest(id, 'r', { dependencies: ['base'] })),
          rest('skipped', 'r', { dependencies: ['config'] }),
          rest('gathers', 'r', { dependencies: errors.map((id) => ({ id, required: false })) }),
        ]);
        here.fails = (me) => (errors.includes(me) ? `a ${me} error` : undefined);
        await it.call('tasks.execute', { task_id: 'r' });
        await here.worker(kind, 'w1');
        await here.worker(kind, 'w2');
        const first = await here.ended('r');
        for (const id of errors)
          assert.deepEqual([first.get(id).status, first.get(id).error], ['failed', `a ${id} error`]);
        assert.deepEqual([first.get('skipped').status, first.get('skipped').cause], ['failed', 'config']);
        assert.equal(first.get('gathers').status, 'completed');
        here.ran.length = 0;
        here.fails = () => undefined;
        await it.call('tasks.execute', { task_id: 'r' });
        const second = await here.ended('r');
        for (const id of [...errors, 'skipped', 'gathers']) {
          const { status, error, result, execution } = second.get(id);
          assert.deepEqual([status, error, result, execution], ['completed', null, { from: id }, 2]);
        }
        const again = here.ran.map(({ me }) => me);
        assert.deepEqual(
          again.toSorted(),
          [...errors, 'skipped', 'gathers'].toSorted(),
          'base and r did not run again',
        );
        assert.deepEqual(
          Object.keys(here.ran.find(({ me }) => me === 'gathers')?.input).toSorted(),
          ['me', ...errors].toSorted(),
        );
      });

      test('13: of many who execute one tree at once one does, while workers run it, and it can be executed after', async (t) => {
        const here = await grounds(t);
        const { it } = here;
        await here.worker(kind, 'w1');
        const trees = ['x', 'y', 'z'];
        for (const root of trees) await it.call('tasks.create', [rest(root), rest(`${root}-child`, root)]);
        const race = async (): Promise<number> => {
          const asked = trees.flatMap((root) => Array(6).fill(root) as string[]);
          const answers = await Promise.all(asked.map((task_id) => it.ask('tasks.execute', { task_id })));
          for (const { error } of answers) {
            // The tree may have run by the time that the last of them is heard: then nothing is left to execute.
            assert.ok(error === undefined || error.code === -32008 || error.code === -32006, JSON.stringify(error));
          }
          return answers.filter(({ error }) => error === undefined).length;
        };
        here.fails = (me) => (me.endsWith('-child') ? 'once more' : undefined);
        await race();
        for (const root of trees) await here.ended(root);
        const before = here.ran.length;
        here.fails = () => undefined;
        await race();
        for (const root of trees) {
          const ended = await here.ended(root);
          assert.equal(ended.get(`${root}-child`).status, 'completed');
        }
        const executions = await Promise.all(trees.map((root) => it.call('tasks.get', { id: `${root}-child` })));
        const started = executions.reduce((sum, { execution }) => sum + execution, 0);
        const ran = here.ran.filter(({ me }) => me.endsWith('-child')).length;
        assert.equal(ran, started, 'each execution that was started ran once');
        assert.ok(here.ran.length > before);
      });

      test('5: a task whose lease has expired is pending again, with its attempts by node, and another worker completes it', async (t) => {
        const here = await grounds(t, { leaseMs: 400 });
        const { it } = here;
        await it.register('silent', ['rest']);
        await it.call('tasks.create', [rest('r'), rest('a', 'r')]);
        await it.call('tasks.execute', { task_id: 'r' });
        const { lease_token } = await it.call('acquire_lease', { task_id: 'a', node_id: 'silent' });
        const { started_at } = await it.call('tasks.get', { id: 'a' });
        assert.ok(started_at);
        // It neither renews nor reports.
        const back = await until(async () => {
          const detail = await it.call('tasks.detail', { id: 'a' });
          return detail.status === 'pending' && detail;
        });
        const { attempts: past, lease_id, lease_expires_at, last_assigned_node } = back;
        assert.deepEqual(
          [past[0]?.outcome, lease_id, lease_expires_at, last_assigned_node],
          ['expired', null, null, 'silent'],
        );
        assert.deepEqual(await it.call('tasks.running.count'), { count: 0 });
        assert.deepEqual(await it.call('tasks.list', { status: 'in_progress', root_only: false }), []);
        const listed = await it.call('tasks.list', { status: 'pending', root_only: false });
        assert.deepEqual(
          listed.map(({ id }: Wire) => id),
          ['a', 'r'],
        );
        const late = { task_id: 'a', node_id: 'silent', lease_token, result: 'late' };
        assert.equal(await it.refusal('report_completion', late), -32006, 'the lease is lost');
        await here.worker(kind, 'w1');
        const ended = await here.ended('r');
        assert.deepEqual([ended.get('a').result, ended.get('r').status], [{ from: 'a' }, 'completed']);
        const { attempts, last_assigned_node: last } = await it.call('tasks.detail', { id: 'a' });
        const nodes = attempts.map(({ node_id, outcome }: Wire) => `${node_id} ${outcome}`);
        // On a slow host the lease of the second one may have run out as well.
        assert.deepEqual([nodes[0], nodes.at(-1), last], ['silent expired', 'w1 completed', 'w1']);
        assert.equal(await it.refusal('report_completion', late), -32006);
      });
    });
  }
}

for (const [store, url] of Object.entries(STORES)) {
  test(`a webhook reaches only what its worker may reach, outlives its node, and is tried again, on ${store}`, async (t) => {
    const received: Wire[] = [];
    const receiver = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += String(chunk)));
      request.on('end', () => {
        received.push({ key: request.headers['x-key'], body: JSON.parse(text) });
        response.writeHead(received.length === 1 ? 503 : 204).end();
      });
    }).listen(0, '127.0.0.1');
    t.after(() => receiver.close());
    await once(receiver, 'listening');
    const { port } = receiver.address() as AddressInfo;
    const webhook_config = { url: `http://127.0.0.1:${port}/hook`, headers: { 'x-key': 'k' }, events: ['final'] };
    const place = await url();
    const worker = (node: NodeScene, allowHttp: readonly string[]): Worker =>
      builtinWorker(node.service.app, {
        name: 'builtin',
        slots: 2,
        tags: [],
        priority: 0,
        queues: [],
        handlers: [],
        allow: [],
        allowHttp,
        allowEnv: [],
        root: '.',
      });
    const delivery = async ({ engine }: RpcScene): Promise<Wire> =>
      (await engine.list({ handlers: ['http'], limit: 1 }))[0];

    const first = new RpcScene(await nodeScene(t, { store: place }));
    const shut = worker(first.node, []);
    await shut.start();
    await first.call('tasks.execute', { tasks: [{ id: 'inside', name: 'echo' }], webhook_config });
    const refused = await until(async () => {
      const found = await delivery(first);
      return found?.state === 'failed' && found;
    });
    assert.equal(JSON.parse(refused.result).code, 'REFUSED');
    await shut.stop();
    await first.register('n1', ['echo']);
    await first.call('tasks.execute', { tasks: [{ id: 'outside', name: 'echo' }], webhook_config });
    assert.deepEqual(await first.work(), ['outside']);
    assert.equal((await delivery(first)).state, 'ready');
    await first.node.service.close({ force: true });
    assert.deepEqual(received, [], 'nothing was sent yet');

    const second = new RpcScene(await nodeScene(t, { store: place }));
    await worker(second.node, [`127.0.0.1:${port}`]).start();
    await until(async () => (await delivery(second)).state === 'completed');
    assert.equal(received.length, 2, 'once more, after an error');
    const sent = received.map(({ key, body: { task_id, status, result, execution } }) => [
      key,
      task_id,
      status,
      result,
      execution,
    ]);
    assert.deepEqual(sent, Array(2).fill(['k', 'outside', 'completed', { from: 'outside' }, 1]));
  });
}
