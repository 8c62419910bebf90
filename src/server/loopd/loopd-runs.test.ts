/** Runs of loopd, on a node whose worker has a root: its agent is a small program. */
import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { messagesOf, type NodeScene, nodeScene, type Wire } from '../../../test/support/node-scene.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const temp = realpathSync(tempFolder('loopd-runs'));
let scenes = 0;

const STORES = {
  sqlite: async () => ({}),
  postgres: async () => ({ store: await freshDatabase('loopd') }),
};
const KINDS = ['sqlite', 'postgres'] as const;

/** It writes a line into a file, and is done with the second. */
const AGENT = `cat > /dev/null
echo line >> done.txt
echo "I wrote line $(wc -l < done.txt | tr -d ' ') of the file done.txt"
[ "$(wc -l < done.txt)" -ge 2 ] && echo "<promise>COMPLETE</promise>"
exit 0`;
const BODY = {
  workspace_root: 'main/shop',
  spec_path: 'specs/The Shop.md',
  agent: { type: 'command', config: { command: ['sh', '-c', AGENT], output: 'text' } },
  config_override: 'verify_cmds=test -s done.txt\nreviewer=false',
};

interface LoopScene extends NodeScene {
  readonly folder: string;
  readonly work: (slots?: number) => Promise<() => Promise<void>>;
}

async function loopScene(t: TestContext, kind: keyof typeof STORES = 'sqlite'): Promise<LoopScene> {
  const root = join(temp, `${++scenes}`);
  for (const name of ['shop', 'other']) {
    mkdirSync(join(root, name, 'specs'), { recursive: true });
    writeFileSync(join(root, name, 'specs', 'The Shop.md'), 'Sell things.');
  }
  const scene = await nodeScene(t, await STORES[kind]());
  const { machineHandler } = await import('../../app/machines/machine-handler.ts');
  const work = async (slots = 4): Promise<() => Promise<void>> => {
    const tasks = [machineHandler({ loopRoots: { main: root }, programs: true })];
    const worker = scene.service.app.worker({ tasks, slots, name: 'box' });
    await worker.start();
    const stop = async (): Promise<void> => worker.stop({ drain: false });
    t.after(stop);
    return stop;
  };
  return Object.assign(scene, { folder: join(root, 'shop'), work });
}

const start = async (scene: NodeScene, more: object = {}): Promise<Wire> =>
  (await scene.call('startLoop', '/runs', { body: { ...BODY, ...more } })).run;
const get = async (scene: NodeScene, id: string): Promise<Wire> => (await scene.call('getLoop', `/runs/${id}`)).run;
const act = (scene: NodeScene, id: string, what: string): Promise<{ readonly status: number; readonly body: Wire }> =>
  scene.ask(`/runs/${id}/${what}`, { method: 'POST' });

async function until(scene: NodeScene, id: string, status: string): Promise<Wire> {
  for (let looks = 0; looks < 400; looks++) {
    const run = await get(scene, id);
    if (run.status === status) return run;
    await new Promise((resolve) => void setTimeout(resolve, 25));
  }
  assert.fail(`it is ${(await get(scene, id)).status}, not ${status}`);
}

async function streamed(scene: NodeScene, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(scene.url(path), { headers: scene.headers({ headers }) });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  return Array.fromAsync(messagesOf(response));
}

test('a run is created, listed and got, by its workspace and its status, and others are not there', async (t) => {
  const scene = await loopScene(t);
  const run = await start(scene);
  assert.deepEqual(
    [run.status, run.name, run.workspace_root, run.worktree.merge_strategy],
    ['PENDING', 'the-shop', 'main/shop', 'none'],
  );
  assert.equal(JSON.parse(run.config_json).reviewer, false);
  const other = await start(scene, { workspace_root: 'main/other', name: 'second' });
  const ids = async (query: string): Promise<readonly string[]> =>
    (await scene.call('listLoops', `/runs${query}`)).runs.map(({ id }: Wire) => id);
  assert.deepEqual(await ids(''), [other.id, run.id]);
  assert.deepEqual(await ids('?workspace_root=main/shop'), [run.id]);
  assert.deepEqual(await ids('?workspace_root=main/nothing'), []);
  assert.deepEqual(await ids('?status=PENDING&limit=1'), [other.id]);
  assert.deepEqual(await ids('?status=COMPLETED'), []);
  assert.deepEqual(await get(scene, run.id), run);
  const { task } = await scene.engine.push({ queue: 'q', handler: 'machine', input: {} });
  const record = await scene.engine.get(task);
  assert.ok(record);
  for (const id of ['nothing', '999999', scene.engine.idOf(record), 'x'.repeat(400), '%00', '..%2f..']) {
    const { status, body } = await scene.ask(`/runs/${id}`);
    assert.deepEqual([status >= 400 && status < 500, typeof body.error], [true, 'string'], id);
  }
});

for (const kind of KINDS)
  test(`a run goes through its phases to its end, and its steps say what came of each: ${kind}`, async (t) => {
    const scene = await loopScene(t, kind);
    await scene.work();
    const { id } = await start(scene);
    await until(scene, id, 'COMPLETED');
    const { steps } = await scene.call('listLoopSteps', `/runs/${id}/steps`);
    assert.deepEqual(
      steps.map(({ phase, attempt, status, exit_code }: Wire) => [phase, attempt, status, exit_code]),
      [
        ['implementation', 1, 'SUCCEEDED', 0],
        ['verification', 1, 'SUCCEEDED', 0],
        ['implementation', 2, 'SUCCEEDED', 0],
        ['verification', 2, 'SUCCEEDED', 0],
        ['merge', 1, 'SUCCEEDED', 0],
      ],
    );
    assert.match(steps[0].output, /I wrote line 1/);
    assert.ok(steps.every(({ run_id, started_at, ended_at }: Wire) => run_id === id && started_at <= ended_at));
    for (const what of ['pause', 'resume', 'cancel', 'retry'])
      assert.equal((await act(scene, id, what)).status, 400, what);
  });

test('events come with their history first, in order, and the stream ends with the run', async (t) => {
  const scene = await loopScene(t);
  const { id } = await start(scene);
  // It begins before anything has happened, and hears all that comes.
  const early = streamed(scene, `/runs/${id}/events`);
  await scene.work();
  const all = await early;
  const types = all.map(({ event }) => event);
  assert.deepEqual(types.slice(0, 4), ['RUN_CREATED', 'RUN_STARTED', 'STEP_STARTED', 'STEP_FINISHED']);
  assert.equal(types.at(-1), 'RUN_COMPLETED');
  assert.equal(types.filter((type) => type === 'STEP_FINISHED').length, 5);
  const numbers = all.map((message) => Number(message.id));
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  );
  assert.equal(all[1]?.data.payload.worker_id, 'box');
  assert.ok(
    all.every(
      ({ data, id: number, event }) => data.run_id === id && String(data.id) === number && data.event_type === event,
    ),
  );
  assert.deepEqual(await streamed(scene, `/runs/${id}/events`), all, 'and again, when all is over');
  const third = all[2];
  assert.deepEqual(await streamed(scene, `/runs/${id}/events`, { 'last-event-id': third?.id ?? '' }), all.slice(3));
  const after = await streamed(scene, `/runs/${id}/events?after=${third?.data.timestamp}`);
  assert.deepEqual(
    after,
    all.filter(({ data }) => data.timestamp >= third?.data.timestamp),
  );
  assert.deepEqual(await streamed(scene, `/runs/${id}/events?after=${Date.now() + 60_000}`), []);
});

test('the output is a stream of what was said, from any byte on', async (t) => {
  const scene = await loopScene(t);
  await scene.work();
  const { id } = await start(scene);
  const messages = await streamed(scene, `/runs/${id}/output`);
  const whole = messages.map(({ data }) => data.text).join('');
  assert.match(
    whole,
    /I wrote line 1[\s\S]*\$ test -s done\.txt\n[\s\S]*I wrote line 2[\s\S]*<promise>COMPLETE<\/promise>\n/,
  );
  const from = whole.indexOf('wrote line 2');
  const rest = await streamed(scene, `/runs/${id}/output?offset=${from}`);
  assert.equal(rest.map(({ data }) => data.text).join(''), whole.slice(from));
  assert.equal(rest[0]?.data.offset, from);
  const end = messages.at(-1)?.id ?? '';
  assert.equal(Number(end), Buffer.byteLength(whole));
  assert.deepEqual(await streamed(scene, `/runs/${id}/output?offset=${end}`), []);
});

for (const kind of KINDS)
  test(`a run that is paused before it begins waits, holds nothing, and goes on when it is resumed: ${kind}`, async (t) => {
    const scene = await loopScene(t, kind);
    const { id } = await start(scene);
    assert.equal((await act(scene, id, 'resume')).status, 400, 'it is not paused');
    assert.deepEqual([(await act(scene, id, 'pause')).status, (await get(scene, id)).status], [204, 'PAUSED']);
    assert.equal((await act(scene, id, 'pause')).status, 204, 'a repeat changes nothing');
    await scene.work(1);
    for (;;) {
      const record = await scene.engine.get(scene.engine.parseId(id));
      if (record?.state === 'waiting') break;
      await new Promise((resolve) => void setTimeout(resolve, 10));
    }
    assert.equal((await get(scene, id)).status, 'PAUSED');
    const other = await start(scene, { prompt: 'x' });
    await until(scene, other.id, 'COMPLETED');
    assert.equal((await act(scene, id, 'resume')).status, 204);
    await until(scene, id, 'COMPLETED');
    const events = await streamed(scene, `/runs/${id}/events`);
    assert.deepEqual(
      events.slice(2, 4).map(({ event }) => event),
      ['RUN_PAUSED', 'RUN_RESUMED'],
    );
  });

test('a pause that was taken back before it took effect holds up nothing, and a later one does', async (t) => {
  const scene = await loopScene(t);
  const { id } = await start(scene, { config_override: 'reviewer=no' });
  for (let times = 0; times < 3; times++) {
    assert.deepEqual([(await act(scene, id, 'pause')).status, (await get(scene, id)).status], [204, 'PAUSED']);
    assert.deepEqual([(await act(scene, id, 'resume')).status, (await get(scene, id)).status], [204, 'PENDING']);
    assert.equal((await act(scene, id, 'resume')).status, 400);
  }
  assert.equal((await act(scene, id, 'pause')).status, 204);
  await scene.work();
  await until(scene, id, 'PAUSED');
  await act(scene, id, 'resume');
  await until(scene, id, 'COMPLETED');
});

test('a cancelled run stops its agent with all that it has started, and a retry goes on where it was', async (t) => {
  const scene = await loopScene(t);
  await scene.work();
  const hanging =
    '[ -e go ] && { echo "<promise>COMPLETE</promise>"; exit 0; }; echo up; sleep 300 & echo $! > pid; wait';
  const { id } = await start(scene, {
    agent: { type: 'command', config: { command: ['sh', '-c', hanging], output: 'text' } },
  });
  writeFileSync(join(scene.folder, 'done.txt'), 'x');
  for await (const { data } of messagesOf(await fetch(scene.url(`/runs/${id}/output`), { headers: scene.headers({}) })))
    if (data.text.includes('up')) break;
  assert.equal((await act(scene, id, 'cancel')).status, 204);
  await until(scene, id, 'CANCELED');
  const events = await streamed(scene, `/runs/${id}/events`);
  assert.equal(events.at(-1)?.event, 'RUN_CANCELED');
  const { steps } = await scene.call('listLoopSteps', `/runs/${id}/steps`);
  assert.deepEqual([steps.length, steps[0].status], [1, 'CANCELED']);
  writeFileSync(join(scene.folder, 'go'), '');
  assert.equal((await act(scene, id, 'retry')).status, 204);
  await until(scene, id, 'COMPLETED');
  const later = await streamed(scene, `/runs/${id}/events`, { 'last-event-id': events.at(-1)?.id ?? '' });
  assert.deepEqual(
    [later[0]?.event, later.at(-1)?.event],
    ['STEP_STARTED', 'RUN_COMPLETED'],
    'nothing after the end is lost',
  );
});

for (const kind of KINDS)
  test(`one workspace has one run at a time, and another workspace is not held up: ${kind}`, async (t) => {
    const scene = await loopScene(t, kind);
    const waiting = 'until [ -e go ]; do sleep 0.05; done; echo "<promise>COMPLETE</promise>"';
    const agent = { type: 'command', config: { command: ['sh', '-c', waiting], output: 'text' } };
    const first = await start(scene, { agent, config_override: 'reviewer=no' });
    const second = await start(scene, { agent, config_override: 'reviewer=no' });
    await scene.work(3);
    await until(scene, first.id, 'RUNNING');
    const other = await start(scene, { workspace_root: 'main/other' });
    await until(scene, other.id, 'COMPLETED');
    assert.deepEqual(
      [(await get(scene, first.id)).status, (await get(scene, second.id)).status],
      ['RUNNING', 'PENDING'],
    );
    const { limits } = await scene.call('explainTask', `/api/v1/tasks/${second.id}/explain`);
    assert.ok(limits.some(({ name, key }: Wire) => name === 'loop.workspace' && key === 'main/shop'));
    writeFileSync(join(scene.folder, 'go'), '');
    await until(scene, second.id, 'COMPLETED');
  });

test('the oldest run goes first, or the newest where that is the policy', async (t) => {
  const scene = await loopScene(t);
  const order = async (policy: string): Promise<readonly string[]> => {
    const body = { config_override: `reviewer=no\nqueue_policy=${policy}` };
    const ids = [];
    for (let n = 0; n < 3; n++) ids.push((await start(scene, { ...body, name: `${policy} ${n}` })).id);
    const stop = await scene.work(1);
    for (const id of ids) await until(scene, id, 'COMPLETED');
    await stop();
    const runs = await Promise.all(ids.map((id) => scene.engine.runs.get(id)));
    return runs.toSorted((a, b) => (a?.startedAt ?? 0) - (b?.startedAt ?? 0)).map((run) => run?.title.slice(-1) ?? '');
  };
  assert.deepEqual(await order('fifo'), ['0', '1', '2']);
  assert.deepEqual(await order('newest_first'), ['2', '1', '0']);
});

test('a call needs a token of the right role, with or without the word Bearer, and /health needs none', async (t) => {
  const scene = await loopScene(t);
  const { id } = await start(scene);
  const without = await scene.ask(`/runs/${id}`, { token: null });
  assert.deepEqual([without.status, without.body], [401, { error: 'missing auth token', code: 'UNAUTHENTICATED' }]);
  const wrong = await scene.ask(`/runs/${id}`, { token: 'nonsense' });
  assert.deepEqual([wrong.status, wrong.body], [401, { error: 'invalid auth token', code: 'UNAUTHENTICATED' }]);
  assert.equal((await scene.ask('/runs', { token: null, headers: { authorization: scene.admin } })).status, 200);
  assert.equal((await scene.ask('/health', { token: null })).status, 200);
  const { token: reader } = await scene.token('read');
  assert.equal((await scene.ask(`/runs/${id}/steps`, { token: reader })).status, 200);
  assert.equal((await scene.ask('/runs', { body: BODY, token: reader })).status, 403);
  for (const what of ['pause', 'resume', 'cancel', 'retry'])
    assert.equal((await scene.ask(`/runs/${id}/${what}`, { method: 'POST', token: reader })).status, 403, what);
  const { secret } = await scene.call('createWorker', '/api/v1/workers', { body: { name: 'w', handlers: null } });
  for (const path of ['/runs', `/runs/${id}`, `/runs/${id}/events`])
    assert.equal((await scene.ask(path, { token: secret })).status, 403);
  assert.equal((await get(scene, id)).status, 'PENDING');
});

test('what no loop could be is refused with all that is wrong, and starts nothing', async (t) => {
  const scene = await loopScene(t);
  const refused = async (more: object): Promise<string> => {
    const { status, body } = await scene.ask('/runs', { body: { ...BODY, ...more } });
    assert.ok(status === 400 || status === 413, `${status} ${JSON.stringify(more).slice(0, 80)}`);
    assert.equal(typeof body.error, 'string');
    return body.error;
  };
  for (const workspace_root of [
    '/etc',
    '../x',
    'main/..',
    'main/../../etc',
    'main/a\0b',
    '',
    'x'.repeat(501),
    'MAIN',
    7,
  ])
    await refused({ workspace_root });
  for (const path of ['/etc/passwd', '../../x', 'a/../b', 'C:\\x']) {
    await refused({ spec_path: path });
    await refused({ plan_path: path });
  }
  assert.match(await refused({ worktree_provider: 'worktrunk' }), /worktrunk is not used/);
  assert.match(await refused({ base_branch: 'main' }), /branches/);
  assert.match(
    await refused({ config_override: 'iterations=0\nreviewer=maybe' }),
    /2 problems[\s\S]*iterations[\s\S]*reviewer/,
  );
  await refused({ config_override: 'x'.repeat(70_000) });
  await refused({ agent: { type: 'command', config: { command: ['sh'], working_dir: '../..' } } });
  await refused({ agent: 7 });
  await refused({ surprise: true });
  await refused({ prompt: 'x'.repeat(300_000) });
  await refused({ agent: { x: 'x'.repeat(5_000_000) } });
  assert.deepEqual((await scene.call('listLoops', '/runs')).runs, []);
  for (const query of ['?status=WHATEVER', '?limit=0', '?limit=1e9', '?x=1', '?token=x'])
    assert.equal((await scene.ask(`/runs${query}`)).status, 400, query);
});

test('a repeat under the same key leads to the same run', async (t) => {
  const scene = await loopScene(t);
  const headers = { 'idempotency-key': 'k' };
  const ids = [];
  for (let n = 0; n < 2; n++) ids.push((await scene.ask('/runs', { body: BODY, headers })).body.run.id);
  assert.equal(ids[0], ids[1]);
});

test('what a worker claims carries the run and the phase of a loop', async (t) => {
  const scene = await loopScene(t);
  const tags = ['loop-root=main'];
  const { secret } = await scene.call('createWorker', '/api/v1/workers', {
    body: { name: 'far', tags, handlers: null },
  });
  const capabilities = { handlers: ['machine', 'plain'], tags };
  const session = await scene.call('registerWorker', '/workers/register', {
    body: { hostname: 'h', capabilities },
    token: secret,
  });
  const headers = { 'x-session-token': session.session_token };
  const claim = async (): Promise<Wire> =>
    (await scene.ask(`/workers/${session.worker_id}/claim`, { body: {}, token: null, headers })).body[0];
  const run = await start(scene);
  const step = await claim();
  assert.deepEqual([step.run_id, step.phase, step.step_id], [run.id, 'implementation', run.id]);
  await scene.engine.push({ queue: 'plain', handler: 'plain' });
  const plain = await claim();
  assert.deepEqual([plain.run_id, plain.phase], [null, 'plain']);
});
