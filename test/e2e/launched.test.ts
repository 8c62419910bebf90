/** Pools whose workers start elsewhere, with real processes: by a program, by ssh, by a receiver of webhooks, and by a stand-in for a cluster that runs a Job as a process. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { remoteKinds } from '../../src/fleet/launch/remote-kinds.ts';
import { LauncherKinds } from '../../src/fleet/registry.ts';
import { Scaler } from '../../src/fleet/scaler.ts';
import { type App, open, task } from '../../src/index.ts';
import { kubernetesApi } from '../support/fleet/kubernetes-api.ts';
import { hostOf, listening, PATH } from '../support/fleet/launching.ts';
import { noSshd, startSshd } from '../support/fleet/sshd.ts';
import { BIN, temporaryFolder } from '../support/leasehold.ts';

const KEY = 'LAUNCHED_TEST_KEY';
process.env[KEY] = 'canary-key';

/** Of the workers; here it only says what goes in and comes out. */
const echo = task('echo', { run: (input: { readonly a: number }) => input });

interface Scene {
  readonly app: App;
  readonly store: string;
  readonly folder: string;
}

async function scene(t: TestContext): Promise<Scene> {
  const folder = temporaryFolder(t);
  const store = `sqlite:${join(folder, 'work.db')}`;
  const app = await open(store, { pools: false, allowHttp: ['127.0.0.1:*'] });
  t.after(() => app.close());
  return { app, store, folder };
}

type Setting = { readonly kind: string; readonly [name: string]: unknown };

/** One task, one check, one worker: it presents its ticket, does the task and goes. */
async function isDone(
  { app }: Scene,
  launcher: Setting,
  check: () => Promise<unknown> = () => app.pools.check('echo'),
): Promise<string> {
  await app.pools.put('echo', { launcher, policy: { max: 2 } });
  const handle = await app.push(echo, { a: 1 });
  await check();
  assert.deepEqual(await handle.result(), { a: 1 });
  const [ticket, ...others] = await app.pools.tickets('echo');
  assert.deepEqual([ticket?.state, others.length], ['used', 0], JSON.stringify(ticket));
  return ticket?.started ?? '';
}

/** A worker as a receiver would start it: all that it knows is what it was told, and where the store is. */
function begin(
  t: TestContext,
  { store, folder }: Scene,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  const own = { PATH, LEASEHOLD_STORE: store, LEASEHOLD_DATA_DIR: join(folder, 'worker') };
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...own, ...env }, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

test('by a program: what it leaves running is the worker', async (t) => {
  const scenery = await scene(t);
  const script = 'nohup "$@" >/dev/null 2>&1 & echo "pid $!"';
  const launcher = { kind: 'command', argv: ['sh', '-c', script, 'sh', '{leasehold}', '{args}'], same_host: true };
  assert.match(await isDone(scenery, launcher), /^pid \d+$/);
});

test('by ssh: it goes on when the connection has ended', { skip: noSshd() }, async (t) => {
  const scenery = await scene(t);
  const { user, port, identity, knownHosts } = await startSshd(t, scenery.folder);
  const launcher = {
    kind: 'ssh',
    host: '127.0.0.1',
    user,
    port,
    identity_file: identity,
    known_hosts_file: knownHosts,
    config_file: '/dev/null',
    command: [process.execPath, BIN, '{args}'],
    env: { LEASEHOLD_STORE: scenery.store, LEASEHOLD_DATA_DIR: join(scenery.folder, 'worker') },
  };
  assert.match(await isDone(scenery, launcher), /^127\.0\.0\.1 pid \d+$/);
});

test('by a receiver of webhooks: it needs no more than what the request says', async (t) => {
  const scenery = await scene(t);
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { args, env } = JSON.parse((await request.setEncoding('utf8').toArray()).join(''));
    response.end(JSON.stringify({ started: `vm ${begin(t, scenery, args, env).pid}` }));
  };
  const { port } = await listening(
    t,
    createServer((request, response) => void receive(request, response)),
  );
  const launcher = { kind: 'webhook', url: `http://127.0.0.1:${port}/`, sign: KEY };
  assert.match(await isDone(scenery, launcher), /^vm \d+$/);
});

test('as a Job: its container has all that a worker needs', async (t) => {
  const scenery = await scene(t);
  const { engine } = scenery.app;
  const api = await kubernetesApi(t);
  const cluster = { server: api.url, ca: undefined, namespace: 'work', token: async () => 'canary' };
  const kinds = new LauncherKinds(remoteKinds({ environment: {}, allowHttp: [], cluster }));
  const scaler = new Scaler({ engine: engine.pools, kinds, host: hostOf({ now: Date.now }), world: engine.world });
  t.after(() => scaler.close());
  const launcher = { kind: 'kubernetes', image: 'leasehold', env: { LEASEHOLD_STORE: scenery.store } };
  const started = await isDone(scenery, launcher, async () => {
    await scaler.check('echo');
    const [job] = [...api.jobs.values()] as [{ spec: { template: { spec: { containers: [Container] } } } }];
    const [{ args, env }] = job.spec.template.spec.containers;
    const { LEASEHOLD_DATA_DIR: _, ...given } = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    begin(t, scenery, args, given);
  });
  assert.match(started, /^job\/work\/leasehold-echo-[0-9a-f]{20}$/);
});

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

test('a receiver that lies costs one ticket, and no more are started for the same task', async (t) => {
  const { app } = await scene(t);
  let asked = 0;
  const { port } = await listening(
    t,
    createServer((_request, response) => response.end(`{"started":"vm ${++asked}"}`)),
  );
  const launcher = { kind: 'webhook', url: `http://127.0.0.1:${port}/`, sign: KEY };
  await app.pools.put('echo', { launcher, policy: { max: 2 } });
  await app.push(echo, { a: 1 });
  for (let i = 0; i < 3; i++) await app.pools.check('echo');
  assert.equal(asked, 1);
  assert.deepEqual(
    (await app.pools.tickets('echo')).map(({ state, started }) => [state, started]),
    [['open', 'vm 1']],
  );
});

test('a worker starts nobody where it has neither the programs nor the keys, and takes no ticket from who has', async (t) => {
  const { app, store } = await scene(t);
  const launcher = { kind: 'command', argv: ['true'] };
  await app.pools.put('echo', { launcher, policy: { max: 2 } });
  await app.push(echo, { a: 1 });
  const worker = await open(store, { pools: false, launchers: 'local' });
  t.after(() => worker.close());
  assert.deepEqual((await worker.pools.check('echo')).launches, []);
  assert.deepEqual(await app.pools.tickets('echo'), []);
  assert.deepEqual(
    (await app.pools.check('echo')).launches.map(({ outcome }) => outcome),
    ['started'],
  );
});

test('a receiver that hangs holds up neither the pool nor the work', async (t) => {
  const scenery = await scene(t);
  const asked = Promise.withResolvers<void>();
  const { port, left } = await listening(
    t,
    createServer(() => asked.resolve()),
  );
  const launcher = { kind: 'webhook', url: `http://127.0.0.1:${port}/`, sign: KEY };
  await scenery.app.pools.put('echo', { launcher, policy: { max: 2, startMs: 1000 } });
  const handle = await scenery.app.push(echo, { a: 1 });
  const checking = scenery.app.pools.check('echo');
  await asked.promise;
  const [code] = await once(begin(t, scenery, ['worker', '--once'], {}), 'exit');
  assert.equal(code, 0);
  assert.deepEqual(await handle.result(), { a: 1 });
  const { launches } = await checking;
  assert.deepEqual(
    launches.map(({ outcome }) => outcome),
    ['unknown'],
  );
  await left();
});
