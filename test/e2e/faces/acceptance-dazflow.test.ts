/** What dazflow promises its agents, tried on real processes over real sockets. The numbers are those of the list of its cases. */
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PlainAgent } from '../../support/dazflow-agent.ts';
import { run, temporaryFolder } from '../../support/leasehold.ts';
import { RealNode } from '../../support/real-node.ts';
import { putRelease } from '../../support/releases/installed-worker.ts';

const CHILD = fileURLToPath(new URL('./dazflow-agent-child.ts', import.meta.url));
const ALONE = ['--no-worker'];
/** Nobody installs it. */
const EMPTY_RELEASE = { 'updater.js': '', 'bin/leasehold.js': '' };

const done = (agent: PlainAgent, id: string, result: unknown = null): void =>
  agent.say({ type: 'task_complete', task_id: id, result });

/** What each agent was offered in all, by its input. */
const offers = (agent: PlainAgent): readonly unknown[] =>
  agent.told.flatMap((told) => (told.type === 'task_available' && 'task' in told ? [told.task.input] : []));

/** Takes what it is offered next, which must be this, and ends it. */
async function serves(node: RealNode, agent: PlainAgent, id: string): Promise<void> {
  const task = await agent.take();
  assert.equal(task.id, id);
  done(agent, id);
  await node.until(async () => (await node.task(id)).state === 'completed', `${id} completes`);
}

test('1: who connects with its secret is online with its address, others are closed, and a disconnect is offline', async (t) => {
  const node = await RealNode.start(t, ALONE);
  const secret = await node.enrol('a', { handlers: null });
  const agent = await PlainAgent.enter(node.url, { name: 'a', secret });
  const online = await node.worker('a');
  assert.deepEqual([online.state, online.host, online.version], ['online', '127.0.0.1', '1.0.0']);
  const disabled = await node.enrol('b', { handlers: null });
  await node.call('PATCH', '/workers/b', { enabled: false });
  for (const greeting of [
    { name: 'a', secret: 'wrong' },
    { name: 'unknown', secret },
    { name: 'b', secret: disabled },
  ]) {
    const stranger = await PlainAgent.dial(node.url);
    stranger.say({ type: 'connect', version: '1.0.0', credentials: [], ...greeting });
    assert.ok((await stranger.hear('connect_rejected')).reason.length > 10);
    assert.equal((await stranger.closed).code, 1008, greeting.name);
  }
  await agent.hangUp();
  await node.until(async () => (await node.worker('a')).state === 'offline', 'it is offline');
  assert.ok((await node.worker('a')).lastSeenAt >= online.lastSeenAt);
});

test('2: a heartbeat is answered', async (t) => {
  const node = await RealNode.start(t, [...ALONE, '--offline-after', '5s']);
  const agent = await node.agent('a');
  for (let i = 0; i < 3; i++) await agent.quiet();
  // Who says nothing for longer than that is offline, as the document has it with 60 s.
  assert.equal((await agent.closed).code, 4408);
  await node.until(async () => (await node.worker('a')).state === 'offline', 'it is offline');
});

test('3: a claim is good once; an end counts once, frees the agent, and says who and what it was', async (t) => {
  const node = await RealNode.start(t, ALONE);
  const agent = await node.agent('a');
  const id = await node.push({ input: { n: 1 } });
  assert.deepEqual((await agent.take()).input, { n: 1 });
  agent.say({ type: 'task_claim', task_id: id });
  const second = await agent.hear('task_claimed_fail');
  assert.deepEqual([second.task_id, second.reason], [id, 'it was claimed before']);
  const running = await node.task(id);
  assert.deepEqual([running.state, running.worker, (await node.worker('a')).running], ['running', 'a', 1]);
  done(agent, id, { n: 2 });
  done(agent, id, { n: 3 });
  await agent.hear('task_claimed_fail');
  const completed = await node.task(id);
  assert.deepEqual([completed.state, completed.result], ['completed', { n: 2 }]);
  assert.equal((await node.worker('a')).running, 0);
  const failing = await node.push({ input: null, handler: 'node-2', maxAttempts: 1 });
  await agent.take();
  agent.say({ type: 'task_failed', task_id: failing, error: 'no such file' });
  await node.until(async () => (await node.task(failing)).state === 'failed', 'it fails');
  const failed = await node.task(failing);
  assert.deepEqual([failed.handler, failed.error], ['node-2', { message: 'no such file' }]);
  assert.deepEqual(
    failed.attempts.map(({ worker, outcome }: { worker: string; outcome: string }) => [worker, outcome]),
    [['a', 'failed']],
  );
});

/**
 * The document gives the tasks of an agent to others as soon as its socket is closed, which turns every hiccup of the network into
 * work done twice. Here its lease decides: until that has run out nobody else gets the task, and then it is first among its equals.
 */
test('4: what a lost agent ran, and nothing else, is run again when its lease is over, before others that waited', async (t) => {
  const node = await RealNode.start(t, [...ALONE, '--lease-duration', '3s']);
  const a = await node.agent('a');
  const lost = await node.push({ input: 'lost' });
  await a.take();
  const b = await node.agent('b');
  const kept = await node.push({ input: 'kept' });
  await b.take();
  const waiting = await node.push({ input: 'waiting' });
  await a.hangUp();
  await node.until(async () => (await node.worker('a')).state === 'offline', 'a is offline');
  const after = await node.task(lost);
  assert.deepEqual([after.state, after.attempt], ['running', 1], 'the socket is closed, and the lease holds');
  await node.until(async () => (await node.task(lost)).state === 'ready', 'its lease is over');
  const c = await node.agent('c');
  await serves(node, c, lost);
  await serves(node, c, waiting);
  const other = await node.task(kept);
  assert.deepEqual([other.state, other.attempt], ['running', 1], 'that of the other agent was left alone');
  assert.equal((await node.task(lost)).attempt, 2);
  done(b, kept);
  await node.until(async () => (await node.task(kept)).state === 'completed', 'the other one completes');
});

test('5: any agent serves what names none; otherwise one of those that are named, and none that is disabled or away', async (t) => {
  const node = await RealNode.start(t, ALONE);
  const [a, b] = [await node.agent('a'), await node.agent('b')];
  const anyone = await node.push({ input: 'anyone' });
  const [first, task] = await Promise.race(
    [a, b].map(async (agent) => [agent, await agent.hear('task_available')] as const),
  );
  assert.ok('task' in task && task.task.id === anyone);
  first.say({ type: 'task_claim', task_id: anyone });
  await first.hear('task_claimed_ok');
  done(first, anyone);
  await node.until(async () => (await node.task(anyone)).state === 'completed', 'it completes');
  await a.hangUp();
  await b.hangUp();
  const [x, y] = [await node.agent('x'), await node.agent('y')];
  for (let i = 0; i < 3; i++) await serves(node, y, await node.push({ input: 'y', placement: { only: ['y'] } }));
  await serves(node, x, await node.push({ input: 'x', placement: { only: ['x', 'nobody'] } }));
  // Disabled, and away: neither is offered anything, though both are named.
  await node.call('PATCH', '/workers/y', { enabled: false });
  await y.hear('config_update');
  const late = await node.push({ input: 'late', placement: { only: ['y', 'nobody'] } });
  await serves(node, x, await node.push({ input: 'x' }));
  const { workers } = await node.call('GET', `/tasks/${late}/explain`);
  const reasons = new Map(workers.map(({ name, reasons: why }: { name: string; reasons: string[] }) => [name, why]));
  assert.match(String(reasons.get('y')), /is disabled/);
  await node.call('PATCH', '/workers/y', { enabled: true });
  await serves(node, y, late);
  assert.deepEqual(
    [offers(x), offers(y)],
    [
      ['x', 'x'],
      ['y', 'y', 'y', 'late'],
    ],
  );
});

test('6: an agent needs all the tags that a task asks for, may have more, and must be one of those that are named', async (t) => {
  const node = await RealNode.start(t, ALONE);
  const gpu = await node.agent('gpu', { tags: ['gpu'] });
  const both = await node.agent('both', { tags: ['gpu', 'cuda', 'linux'] });
  const two = { requires: ['gpu', 'cuda'] };
  for (let i = 0; i < 3; i++) await serves(node, both, await node.push({ input: 'two', placement: two }));
  await serves(node, gpu, await node.push({ input: 'named', placement: { requires: ['gpu'], only: ['gpu'] } }));
  // Named without the tags, and with the tags without being named.
  const nobody = await node.push({ input: 'nobody', placement: { ...two, only: ['gpu'] } });
  await serves(node, both, await node.push({ input: 'one', placement: { requires: ['cuda'] } }));
  assert.equal((await node.task(nobody)).state, 'ready');
  // A tag that it is given counts at once, and it is told.
  await node.call('PATCH', '/workers/gpu', { addTags: ['cuda'] });
  assert.deepEqual((await gpu.hear('config_update')).tags, ['gpu', 'cuda']);
  await serves(node, gpu, nobody);
  assert.deepEqual(
    [offers(gpu), offers(both)],
    [
      ['named', 'nobody'],
      ['two', 'two', 'two', 'one'],
    ],
  );
});

test('7: what needs a credential goes to an agent that has acknowledged it, and never to one without it or that could not take it', async (t) => {
  const node = await RealNode.start(t, ALONE);
  const [able, unable, other] = [await node.agent('able'), await node.agent('unable'), await node.agent('other')];
  const first = await node.push({ placement: { credentials: ['discord'] } });
  await node.call('POST', '/credentials', {
    name: 'discord',
    fields: { token: 'a-b-c' },
    type: 'discord',
    workers: ['able', 'unable'],
  });
  for (const agent of [able, unable]) {
    const { name, data, credential } = await agent.hear('credential_push');
    assert.deepEqual(
      [name, data, credential],
      ['discord', { token: 'a-b-c' }, { type: 'discord', data: { token: 'a-b-c' } }],
    );
  }
  unable.say({ type: 'credential_ack', name: 'discord', status: 'failed', error: 'no keyring' });
  await unable.quiet();
  assert.deepEqual(offers(able), [], 'it has not said that it has it');
  able.say({ type: 'credential_ack', name: 'discord', status: 'success' });
  await serves(node, able, first);
  for (let n = 0; n < 3; n++) await serves(node, able, await node.push({ placement: { credentials: ['discord'] } }));
  await Promise.all([unable.quiet(), other.quiet()]);
  assert.deepEqual([offers(unable), offers(other)], [[], []]);
  assert.ok(other.told.every(({ type }) => type !== 'credential_push'));
  const { holders } = await node.call('GET', '/credentials/discord');
  const said = holders.map(({ worker, status, error }: Record<string, string>) => [worker, status, error]);
  assert.deepEqual(said, [
    ['able', 'stored', undefined],
    ['unable', 'failed', 'no keyring'],
  ]);
});

test('8: no more run of a group than its limit, whoever asks; groups are apart, kept, counted by what runs, and made once', async (t) => {
  const cwd = temporaryFolder(t);
  const node = await RealNode.start(t, ALONE, cwd);
  await node.call('POST', '/limits', { name: 'claude', limit: 1 });
  await node.call('POST', '/limits', { name: 'printer', limit: 1 });
  assert.equal((await node.ask('POST', '/limits', { name: 'claude', limit: 5 })).status, 409);
  assert.ok((await node.ask('POST', '/tasks', { queue: 'work', handler: 'n', limits: ['clade'] })).status >= 400);
  const active = async (name: string): Promise<number> => (await node.call('GET', `/limits/${name}`)).active;
  const agents = [await node.agent('a'), await node.agent('b'), await node.agent('c')];
  const ids = new Set<string>();
  for (let i = 0; i < 6; i++) ids.add(await node.push({ input: 'claude', limits: ['claude'] }));
  const other = await node.push({ input: 'printer', limits: ['printer'] });
  let running = 0;
  let most = 0;
  const work = async (agent: PlainAgent): Promise<void> => {
    for (;;) {
      const { id, input } = await agent.take();
      if (input === 'printer') {
        // Its group has room, though the other one is full.
        done(agent, id);
        ids.delete(id);
        continue;
      }
      most = Math.max(most, ++running);
      assert.equal(await active('claude'), 1);
      running--;
      ids.delete(id);
      done(agent, id);
    }
  };
  for (const agent of agents) work(agent).catch(() => {});
  await node.until(
    async () => ids.size === 0 && (await node.task(other)).state === 'completed',
    'all of them have run',
  );
  await node.until(async () => (await active('claude')) === 0, 'nothing is taken of it');
  assert.equal(most, 1);
  // An end that is said twice takes nothing back twice.
  assert.deepEqual([await active('claude'), await active('printer')], [0, 0]);
  await node.call('PATCH', '/limits/claude', { limit: 2 });
  await node.stop();
  const again = await RealNode.start(t, ALONE, cwd);
  assert.equal((await again.call('GET', '/limits/claude')).concurrent, 2);
});

test('9: an agent of the wanted version is told nothing, another one that it is to be upgraded, and nothing once it was', async (t) => {
  const served = join(temporaryFolder(t), 'release');
  putRelease(served, { version: '2.0.0', files: EMPTY_RELEASE, keyFile: undefined });
  const node = await RealNode.start(t, [...ALONE, '--release', served]);
  await node.call('PATCH', '/upgrade', { target: '2.0.0' });
  const secrets = {
    old: await node.enrol('old', { handlers: null }),
    new: await node.enrol('new', { handlers: null }),
  };
  const old = await PlainAgent.enter(node.url, { name: 'old', secret: secrets.old, version: '1.0.0' });
  const fresh = await PlainAgent.enter(node.url, { name: 'new', secret: secrets.new, version: '2.0.0' });
  const { current_version: current, required_version: required } = await old.hear('upgrade_required');
  assert.deepEqual([current, required], ['1.0.0', '2.0.0']);
  await fresh.quiet();
  assert.ok(fresh.told.every(({ type }) => type !== 'upgrade_required'));
  await old.hangUp();
  await node.until(async () => (await node.worker('old')).state === 'offline', 'it is offline');
  const upgraded = await PlainAgent.enter(node.url, { name: 'old', secret: secrets.old, version: '2.0.0' });
  await upgraded.quiet();
  assert.ok(upgraded.told.every(({ type }) => type !== 'upgrade_required'));
});

test('10: lines of a task are shipped while it runs, whether few or many, in order, and to their own task', async (t) => {
  const node = await RealNode.start(t, ALONE);
  const secret = await node.enrol('box', { handlers: null });
  const worker = run(t, ['worker', '--join', node.url, '--name', 'box', '--secret', secret, '--allow', 'shell'], {
    cwd: temporaryFolder(t),
  });
  await worker.says(/Worker box runs/);
  const shell = (command: string): Promise<string> =>
    node.push({ queue: 'shell', handler: 'shell', input: { command } });
  const script = (name: string): string =>
    `echo first ${name}; read line < fifo-${name}; i=0; while [ $i -lt 400 ]; do echo ${name} $i; i=$((i+1)); done`;
  const names = ['x', 'y'];
  const ids = await Promise.all(names.map((name) => shell(`mkfifo fifo-${name}; ${script(name)}`)));
  // One line is not kept until there are many.
  for (const [i, id] of ids.entries()) {
    await node.until(async () => (await node.lines(id)).includes(`first ${names[i]}`), 'the first line is there');
    assert.equal((await node.task(id)).state, 'running');
  }
  const gate = await shell(`for name in x y; do echo go > fifo-$name; done`);
  for (const [i, id] of [...ids, gate].entries()) {
    await node.until(async () => (await node.task(id)).state === 'completed', 'it completes');
    if (id === gate) continue;
    const wanted = Array.from({ length: 400 }, (_, n) => `${names[i]} ${n}`);
    assert.deepEqual(await node.lines(id), [`first ${names[i]}`, ...wanted]);
  }
});

test('10: the lines of a plain agent are there while it runs and after its end, grouped by task', async (t) => {
  const node = await RealNode.start(t, ALONE);
  const agents = [await node.agent('a'), await node.agent('b')];
  const ids = [await node.push({ input: 0 }), await node.push({ input: 1 })];
  const tasks = await Promise.all(agents.map((agent) => agent.take()));
  assert.deepEqual(new Set(tasks.map(({ id }) => id)), new Set(ids));
  const say = (i: number, logs: readonly unknown[]): void =>
    agents[i]?.say({ type: 'task_progress', task_id: tasks[i]?.id, logs });
  for (let n = 0; n < 50; n++) for (const i of [0, 1]) say(i, [`${i}: ${n}`, { line: `${i}: ${n}+`, timestamp: n }]);
  const wanted = (i: number) => Array.from({ length: 50 }, (_, n) => [`${i}: ${n}`, `${i}: ${n}+`]).flat();
  for (const [i, { id }] of tasks.entries()) {
    await node.until(async () => (await node.lines(id)).length === 100, 'the lines are there');
    assert.equal((await node.task(id)).state, 'running');
    say(i, ['the last']);
    done(agents[i] as PlainAgent, id);
    await node.until(async () => (await node.task(id)).state === 'completed', 'it completes');
    assert.deepEqual(await node.lines(id), [...wanted(i), 'the last']);
  }
});

const nameOfHost = (): string =>
  hostname()
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-');

test('11: the built-in worker is online at the start and is the same one after a restart', async (t) => {
  const cwd = temporaryFolder(t);
  const name = nameOfHost();
  const first = await RealNode.start(t, [], cwd);
  const before = await first.worker(name);
  assert.deepEqual([before?.state, before?.name], ['online', name]);
  await first.call('PATCH', `/workers/${name}`, { addTags: ['gpu'], priority: 7 });
  await first.stop();
  const second = await RealNode.start(t, [], cwd);
  const after = await second.worker(name);
  assert.deepEqual([after?.state, after?.priority, after?.tags], ['online', 7, ['gpu']], 'what was said of it holds');
  assert.notEqual(after.id, before.id, 'each start is an incarnation of its own');
});

function child(t: TestContext, node: RealNode, name: string, secret: string) {
  return run(t, [CHILD, node.url, name, secret], { cwd: temporaryFolder(t), command: 'node' });
}

test('11: an agent as a process of its own connects, works, is offline when it is killed, and not let in with a bad secret', async (t) => {
  const node = await RealNode.start(t, [...ALONE, '--lease-duration', '3s']);
  const secret = await node.enrol('gpu-1', { handlers: null });
  const stranger = child(t, node, 'gpu-1', 'wrong');
  assert.equal((await stranger.ended).code, 4);
  const agent = child(t, node, 'gpu-1', secret);
  await agent.says(/connect_ok/);
  const id = await node.push({ input: { hello: 'world' } });
  await node.until(async () => (await node.task(id)).state === 'completed', 'it completes');
  const task = await node.task(id);
  assert.deepEqual([task.result, task.attempts[0].worker], [{ hello: 'world' }, 'gpu-1']);
  assert.deepEqual(await node.lines(id), ['gpu-1 runs it']);
  const hanging = await node.push({ input: 'hang' });
  await node.until(async () => (await node.task(hanging)).state === 'running', 'the next one runs');
  await agent.says(/task_claimed_ok[^]*task_claimed_ok/);
  agent.child.kill('SIGKILL');
  await node.until(async () => (await node.worker('gpu-1')).state === 'offline', 'it is offline');
  await node.until(async () => (await node.task(hanging)).state === 'ready', 'its lease is over');
  // A worker of ours serves the same queue.
  const box = await node.enrol('box', { handlers: null });
  const ours = run(t, ['worker', '--join', node.url, '--name', 'box', '--secret', box], { cwd: temporaryFolder(t) });
  await ours.says(/Worker box runs/);
  const echo = await node.push({ handler: 'echo', input: { n: 1 } });
  await node.until(async () => (await node.task(echo)).state === 'completed', 'ours runs it');
});

test('an agent of the document gets tags and a credential, runs what needs both, is told of another release, and is cut off within a second', async (t) => {
  const served = join(temporaryFolder(t), 'release');
  putRelease(served, { version: '2.0.0', files: EMPTY_RELEASE, keyFile: undefined });
  const node = await RealNode.start(t, [...ALONE, '--release', served]);
  const secret = await node.enrol('gpu-1', { handlers: null, tags: ['gpu'] });
  const agent = child(t, node, 'gpu-1', secret);
  await agent.says(/connect_ok/);
  await node.call('POST', '/credentials', { name: 'discord', value: 'twelve chars', workers: ['gpu-1'] });
  await agent.says(/discord has 12 characters/);
  const id = await node.push({ input: { hello: 1 }, placement: { requires: ['gpu'], credentials: ['discord'] } });
  await node.until(async () => (await node.task(id)).state === 'completed', 'it completes');
  assert.equal((await node.task(id)).attempts[0].worker, 'gpu-1');
  await node.call('PATCH', '/upgrade', { target: '2.0.0' });
  await agent.says(/wants 2\.0\.0/);
  const since = performance.now();
  await node.call('DELETE', '/workers/gpu-1');
  assert.equal((await agent.ended).code, 1);
  t.diagnostic(`cut off after ${Math.round(performance.now() - since)} ms`);
  const again = child(t, node, 'gpu-1', secret);
  assert.equal((await again.ended).code, 4);
});

test('an agent that comes by the address of old is served where that is asked for, and its secret is shown nowhere', async (t) => {
  const node = await RealNode.start(t, [...ALONE, '--compat', '004']);
  const secret = await node.enrol('a', { handlers: null });
  const path = `/ws/agent/a/${secret}`;
  const page = await (await fetch(node.url + path)).text();
  assert.ok(!page.includes(secret), page);
  const agent = await PlainAgent.dial(node.url, path);
  await agent.hear('connect_ok');
  agent.say({ type: 'version', version: 'deadbeef0123' });
  agent.say({ type: 'credentials_report', credentials: [] });
  const id = await node.push({ input: { workflow_name: 'my-workflow', node_id: 'n1', execution: {} } });
  const { type: _, ...offer } = await agent.hear('task_available');
  assert.deepEqual(offer, {
    task_id: id,
    workflow_name: 'my-workflow',
    node_id: 'n1',
    execution_snapshot: { workflow_name: 'my-workflow', node_id: 'n1', execution: {} },
  });
  agent.say({ type: 'task_claim', task_id: id });
  await agent.hear('task_claimed_ok');
  done(agent, id, { success: true });
  await node.until(async () => (await node.task(id)).state === 'completed', 'it completes');
  const wrong = await PlainAgent.dial(node.url, '/ws/agent/a/wrong-secret');
  assert.equal((await wrong.closed).code, 4001);
  await node.stop();
  const said = node.process.stdout + node.process.stderr;
  assert.ok(!said.includes(secret) && !said.includes('wrong-secret'), said);
});

test('a worker of another host that is drained ends what it has, takes nothing more, and goes on when it is enabled', async (t) => {
  const cwd = temporaryFolder(t);
  const node = await RealNode.start(t, ALONE, cwd);
  const secret = await node.enrol('box', { handlers: null });
  const there = temporaryFolder(t);
  const worker = run(t, ['worker', '--join', node.url, '--name', 'box', '--secret', secret, '--allow', 'shell'], {
    cwd: there,
  });
  await worker.says(/Worker box runs/);
  const running = await node.push({ handler: 'shell', input: { command: 'mkfifo go; echo here; read line < go' } });
  await node.until(async () => (await node.lines(running)).includes('here'), 'it runs');
  const drain = run(t, ['workers', 'drain', 'box'], { cwd });
  await drain.says(/takes nothing more; 1 task of it runs on/);
  const next = await node.push({ handler: 'echo', input: { n: 1 } });
  const open = run(t, ['-c', 'echo word > go'], { cwd: there, command: 'sh' });
  assert.deepEqual(await drain.ended, { code: 0, signal: null });
  assert.match(drain.stdout, /box is drained: it has no task, and takes none/);
  await open.ended;
  assert.equal((await node.task(running)).state, 'completed');
  assert.equal((await node.task(next)).state, 'ready');
  await node.call('PATCH', '/workers/box', { enabled: true });
  await node.until(async () => (await node.task(next)).state === 'completed', 'it goes on');
});
