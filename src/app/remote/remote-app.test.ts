import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type NodeScene, nodeScene } from '../../../test/support/node-scene.ts';
import { isEngineError } from '../../core/errors.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { task } from '../../worker/define/task.ts';
import { type NodeUrl, open } from '../open.ts';
import type { RemoteApp, RemoteOptions } from './remote-app.ts';

const echo = task('echo', { run: (input) => input });

async function scene(t: TestContext): Promise<{
  readonly node: NodeScene;
  readonly app: RemoteApp;
  readonly opened: (options?: RemoteOptions) => Promise<RemoteApp>;
}> {
  const apps: RemoteApp[] = [];
  // Closed before the node that they talk to, which is opened below.
  t.after(() => Promise.all(apps.map((app) => app.close())));
  const node = await nodeScene(t, { durability: 'normal' });
  const opened = async (options: RemoteOptions = {}): Promise<RemoteApp> => {
    const app = await open(node.service.address as NodeUrl, options);
    apps.push(app);
    return app;
  };
  return { node, opened, app: await opened({ token: node.admin }) };
}

const names = async ({ engine }: NodeScene) =>
  (await engine.workers.list()).map(({ name, state }) => `${name} ${state}`);

test('options of the node and unknown options are refused', async () => {
  const url: NodeUrl = 'http://127.0.0.1:7420';
  for (const option of ['clock', 'world', 'durability', 'leaseMs', 'duties', 'retentionMs']) {
    await assert.rejects(open(url, { [option]: 1 } as never), (error) => {
      assert.ok(isEngineError(error, 'INVALID_INPUT'));
      return error.message.includes(`The ${option} is not valid: it belongs to the node`);
    });
  }
  assert.equal(await refusal(open(url, { tokn: 'x' } as never)), 'UNKNOWN_OPTION');
  assert.equal(await refusal(open(url, { token: 7 } as never)), 'INVALID_INPUT');
  assert.equal(await refusal(open('http://user:pass@host/', {})), 'INVALID_INPUT');
  const app = await open(url, { token: 'x', patience: 0 });
  await assert.rejects(app.push(echo, 1, { tx: {} as never }), /cannot reach the store of a node/);
  assert.equal(await refusal(app.signal('channel', 1, { op: 'x' })), 'INVALID_INPUT');
  await app.close();
});

test('with a token a worker registers itself, under a name that is removed when it stops', async (t) => {
  const { node, app } = await scene(t);
  const worker = app.worker({ tasks: [echo], tags: ['gpu'] });
  await worker.start();
  assert.equal(await (await app.push(echo, 1, { placement: { requires: ['gpu'] } })).result(), 1);
  const [name = ''] = (await names(node))[0]?.split(' ') ?? [];
  assert.equal((await node.engine.store.workerSettings()).length, 1);
  await worker.stop();
  assert.deepEqual(await node.engine.store.workerSettings(), []);
  assert.equal(
    (await node.ask(`/api/v1/workers/${name}/rotate`, { body: {} })).status,
    404,
    'its secret ended with it',
  );
});

test('a named worker returns with the same token, and with new tags', async (t) => {
  const { node, app } = await scene(t);
  for (const tags of [['a'], ['a', 'b']]) {
    const worker = app.worker({ tasks: [echo], name: 'box', tags });
    await worker.start();
    assert.deepEqual(await (await app.push(echo, tags, { placement: { requires: tags } })).result(), tags);
    await worker.stop();
  }
  assert.deepEqual(await names(node), ['box offline', 'box offline']);
});

test('without a token a worker signs in by its secret or by a code, and by nothing else', async (t) => {
  const { node, app, opened } = await scene(t);
  const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'box' } });
  const { code } = await node.call('createWorker', '/api/v1/workers', { body: { name: 'laptop', code: true } });
  const nobody = await opened();
  assert.throws(() => nobody.worker({ tasks: [echo] }), { code: 'UNAUTHENTICATED' });
  assert.throws(() => nobody.worker({ tasks: [echo], secret }), /a secret belongs to a name/);
  assert.throws(() => nobody.worker({ tasks: [echo], name: 'box', secret, code }), /give one of them/);
  assert.equal(
    await refusal(nobody.worker({ tasks: [echo], name: 'box', secret: 'wrong' }).start()),
    'UNAUTHENTICATED',
  );
  assert.equal(await refusal(nobody.push(echo, 1)), 'UNAUTHENTICATED');
  for (const proof of [{ name: 'box', secret }, { code }] as const) {
    const worker = nobody.worker({ tasks: [echo], ...proof });
    await worker.start();
    assert.equal(await (await app.push(echo, 1)).result(), 1);
    await worker.stop();
  }
  assert.equal(await refusal(nobody.worker({ tasks: [echo], code }).start()), 'UNAUTHENTICATED', 'a code is good once');
  assert.deepEqual((await names(node)).toSorted(), ['box offline', 'laptop offline']);
});

test('a bad id fails alone, whatever else is waited for', async (t) => {
  const { app } = await scene(t);
  const handles = await app.pushMany(echo, [1, 2, 3]);
  const garbage = refusal(app.handle('garbage').result());
  const results = Promise.all(handles.map((handle) => handle.result()));
  await app.worker({ tasks: [echo] }).start();
  assert.equal(await garbage, 'INVALID_ID');
  assert.deepEqual(await results, [1, 2, 3]);
});

test("a call that the token's role forbids is FORBIDDEN", async (t) => {
  const { node, opened } = await scene(t);
  const reader = await opened({ token: (await node.token('read')).token });
  assert.deepEqual(await reader.queues(), []);
  assert.equal(await refusal(reader.push(echo, 1)), 'FORBIDDEN');
});
