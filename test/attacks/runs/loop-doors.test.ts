/** The doors of loops and of running trees, with what nobody should send: each is refused as what it is, and the run is as it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NodeScene, nodeScene, type Wire } from '../../support/node-scene.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { RpcScene } from '../../support/rpc-scene.ts';

const STORES = { sqlite: async () => ({}), postgres: async () => ({ store: await freshDatabase('loop_doors') }) };
const BODY = {
  workspace_root: 'main/shop',
  prompt: 'Go on.',
  agent: { type: 'command', config: { command: ['true'] } },
};
const EVIL = [
  'a\0b',
  '\ud800',
  '\u202e',
  '<img src=x onerror=alert(1)>',
  "'; DROP TABLE task; --",
  '${x}',
  '{{ 7*7 }}',
];

for (const [kind, store] of Object.entries(STORES)) {
  test(`what a run is started with is kept as it was said or refused, on ${kind}`, async (t) => {
    const scene = await nodeScene(t, await store());
    let kept = 0;
    for (const [field, text] of ['name', 'prompt', 'config_override'].flatMap((one) => EVIL.map((two) => [one, two]))) {
      const value = field === 'config_override' ? `verify_cmds=${text}` : text;
      const { status, body } = await scene.ask('/runs', { body: { ...BODY, [field as string]: value } });
      assert.ok(status === 201 || status === 400, `${status} ${field} ${JSON.stringify(text)} ${JSON.stringify(body)}`);
      if (status === 400) assert.equal(typeof body.error, 'string');
      else {
        kept++;
        const again = (await scene.ask(`/runs/${body.run.id}`)).body.run;
        assert.deepEqual(again, body.run);
        if (field === 'name' && text !== '\ud800') assert.equal(again.name, text);
      }
    }
    assert.ok(kept >= 12, `${kept} were kept`);
    assert.equal((await scene.ask('/runs?limit=200')).body.runs.length, kept);
  });

  test(`no call about a run does what it was not asked, on ${kind}`, async (t) => {
    const scene = await nodeScene(t, await store());
    const { run } = (await scene.ask('/runs', { body: BODY })).body;
    const before = await scene.ask(`/runs/${run.id}`);
    await refusals(scene, [
      [`/runs/${run.id}/events?after=-1`],
      [`/runs/${run.id}/events?after=1e3`],
      [`/runs/${run.id}/events?after=NaN`],
      [`/runs/${run.id}/events?after=${'9'.repeat(400)}`],
      [`/runs/${run.id}/events?after=1&after=2`],
      [`/runs/${run.id}/events?since=1`],
      [`/runs/${run.id}/events`, { 'last-event-id': '-1' }],
      [`/runs/${run.id}/events`, { 'last-event-id': '1;2' }],
      [`/runs/${run.id}/events`, { 'last-event-id': '9'.repeat(30) }],
      [`/runs/${run.id}/output?offset=-1`],
      [`/runs/${run.id}/output?offset=0x10`],
      [`/runs/${run.id}/output`, { 'last-event-id': 'x' }],
      ['/runs?status=pending'],
      [`/runs/${'%F0%28%8C%28'}`],
      [`/runs/${run.id}%00`],
      ['/runs/-1'],
      ['/runs/1e9'],
      ['/runs/__proto__'],
      ['/runs/constructor/steps'],
      [`/runs/${run.id}/diff`],
      ['/runs/__proto__/diff'],
      ['/worktrees?workspace_root=/etc'],
      ['/worktrees?workspace_root=main/../other'],
      ['/worktrees?path=main'],
    ]);
    const agent = await scene.engine.push({ queue: 'q', handler: 'agent', input: { gateway: 'x', prompt: 'y' } });
    const record = await scene.engine.get(agent.task);
    assert.ok(record);
    for (const what of ['', '/steps', '/events', '/output', '/diff'])
      assert.equal((await scene.ask(`/runs/${scene.engine.idOf(record)}${what}`)).status, 404, what);
    for (const what of ['pause', 'resume', 'cancel', 'retry', 'merge', 'scrap', 'create-pr']) {
      const { status } = await scene.ask(`/runs/${scene.engine.idOf(record)}/${what}`, { method: 'POST' });
      assert.equal(status, 404, `${what} of what is no loop`);
    }
    for (const run_id of ['', '../x', 'nobody', '__proto__', scene.engine.idOf(record)]) {
      const { status } = await scene.ask(`/worktrees?run_id=${encodeURIComponent(run_id)}`, { method: 'DELETE' });
      assert.ok(status === 400 || status === 404, `${status} ${run_id}`);
    }
    for (const field of [
      { base_branch: '--upload-pack=x' },
      { merge_target_branch: 'a..b' },
      { run_branch_prefix: '../../' },
      { worktree_path_template: '/etc/{{ repo }}' },
      { worktree_path_template: '../../{{ repo }}' },
      { worktree_path_template: '.git/{{ run_branch }}' },
      { worktree_provider: 'worktrunk' },
      { worktrunk_bin: '/bin/sh' },
      { config_override: 'repo_url=ext::sh -c x\nworkspace_source=git' },
    ]) {
      const { status, body } = await scene.ask('/runs', { body: { ...BODY, merge_strategy: 'merge', ...field } });
      assert.equal(status, 400, `${JSON.stringify(field)} ${JSON.stringify(body)}`);
    }
    assert.equal((await scene.engine.get(agent.task))?.state, 'ready');
    assert.deepEqual((await scene.ask(`/runs/${run.id}`)).body, before.body);
  });

  test(`the running and scheduled tasks of apflow answer no nonsense, on ${kind}`, async (t) => {
    const it = new RpcScene(await nodeScene(t, await store()));
    await it.call('tasks.create', { id: 'a', name: 'echo' });
    const schedule = { task_id: 'a', schedule_type: 'cron', schedule_expression: '* * * * *' };
    const nul = 'a\0b';
    const asked: readonly (readonly [string, Wire])[] = [
      ...['get', 'detail', 'tree', 'children', 'delete', 'execute', 'clone', 'scheduled.complete'].flatMap((method) => [
        [`tasks.${method}`, { id: nul }] as const,
        [`tasks.${method}`, { task_id: nul }] as const,
      ]),
      ...['list', 'count', 'running.list', 'running.count'].map(
        (method) => [`tasks.${method}`, { user_id: nul }] as const,
      ),
      ['tasks.cancel', { task_ids: ['a', nul] }],
      ['tasks.running.status', { task_ids: [nul] }],
      ['tasks.children', { id: 'a', parent_id: nul }],
      ['tasks.update', { id: nul, inputs: {} }],
      ['tasks.scheduled.init', { ...schedule, task_id: nul }],
      ...[-1, 1.5, '1', 1e12, null].flatMap((limit) => [
        ['tasks.running.list', { limit }] as const,
        ['tasks.running.list', { offset: limit }] as const,
        ['tasks.scheduled.list', { limit }] as const,
      ]),
      ['tasks.running.status', { task_ids: 'a' }],
      ['tasks.running.status', { task_ids: Array.from({ length: 20_000 }, () => 'a') }],
      ['tasks.running.status', { task_ids: [['a']] }],
      ['tasks.running.count', { user_id: { $gt: '' } }],
      ['tasks.scheduled.due', { before: 'soon' }],
      ['tasks.scheduled.due', { before: 7 }],
      ['tasks.scheduled.init', { ...schedule, schedule_expression: '* * * * * * * *' }],
      ['tasks.scheduled.init', { ...schedule, schedule_expression: '*/0 * * * *' }],
      ['tasks.scheduled.init', { ...schedule, schedule_type: 'interval', schedule_expression: '0' }],
      ['tasks.scheduled.init', { ...schedule, schedule_type: 'interval', schedule_expression: '1e9' }],
      ['tasks.scheduled.init', { ...schedule, schedule_type: 'daily', schedule_expression: '25:00' }],
      ['tasks.scheduled.init', { ...schedule, schedule_type: 'monthly', schedule_expression: '32@09:00' }],
      ['tasks.scheduled.init', { ...schedule, timezone: 'Mars/Base' }],
      ['tasks.scheduled.init', { ...schedule, task_id: 'nobody' }],
      ['tasks.scheduled.complete', { task_id: 'nobody' }],
    ];
    for (const [method, params] of asked) {
      const code = await it.refusal(method, params).catch((error: unknown) => error);
      assert.ok(
        typeof code === 'number' && code < -32000 && code !== -32603,
        `${method} ${JSON.stringify(params).slice(0, 200)}: ${String(code)}`,
      );
    }
    assert.deepEqual(await it.call('tasks.scheduled.list', {}), []);
    assert.deepEqual(
      await it
        .call('tasks.running.status', { task_ids: ['__proto__', 'constructor', 'nobody'] })
        .then((all: Wire) => all.map(({ status }: Wire) => status)),
      Array(3).fill('not_found'),
    );
  });
}

async function refusals(
  scene: NodeScene,
  calls: readonly (readonly [string, Record<string, string>?])[],
): Promise<void> {
  for (const [path, headers = {}] of calls) {
    const stop = AbortSignal.timeout(5_000);
    const response = await fetch(scene.url(path), { headers: { ...scene.headers({}), ...headers }, signal: stop });
    const text = response.status < 400 ? '' : await response.text();
    await response.body?.cancel().catch(() => {});
    assert.ok(response.status >= 400 && response.status < 500, `${response.status} ${path} ${JSON.stringify(headers)}`);
    assert.doesNotMatch(text, /at .*\.ts:|node_modules|SELECT|INTERNAL/, path);
  }
}
