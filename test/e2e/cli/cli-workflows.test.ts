import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { builtinWorker } from '../../../src/app/builtin-worker.ts';
import { open } from '../../../src/app/open.ts';
import { type Place, place } from './cli-calls.ts';

const HELLO = {
  name: 'hello',
  nodes: [
    { id: 'start', typeId: 'core/start' },
    { id: 'long', typeId: 'core/if', data: { condition: '{{ $.start.name.length > 3 }}' } },
    { id: 'say', typeId: 'system/run_command', data: { argv: ['printf', '%s', 'Hello {{ $.start.name }}'] } },
    { id: 'short', typeId: 'core/set', data: { fields: [{ name: 'text', value: 'Hi {{ $.start.name }}' }] } },
    { id: 'gpu', typeId: 'acme/render', required_credential: 'acme', agentConfig: { requiredTags: ['gpu'] } },
  ],
  connections: [
    { id: 'c1', sourceNodeId: 'start', targetNodeId: 'long' },
    { id: 'c2', sourceNodeId: 'long', targetNodeId: 'say' },
    { id: 'c3', sourceNodeId: 'long', sourceConnectorId: 'false', targetNodeId: 'short' },
    { id: 'c4', sourceNodeId: 'short', targetNodeId: 'gpu' },
  ],
};

function withFiles(at: Place): Place {
  writeFileSync(join(at.cwd, 'hello.json'), JSON.stringify(HELLO, undefined, 1));
  writeFileSync(
    join(at.cwd, 'wrong.yml'),
    'nodes:\n  - {id: a, typeId: core/if}\n  - {id: b, typeId: "no name"}\nconnections: []\n',
  );
  return at;
}

/** A worker on the store of the place. */
async function works(t: TestContext, { cwd, url }: Place): Promise<void> {
  const app = await open(url);
  t.after(() => app.close());
  const given = { slots: 2, tags: [], priority: 0, queues: [], handlers: [], allowHttp: [], allowEnv: [] };
  await builtinWorker(app, { ...given, name: 'built-in', allow: ['shell'], root: cwd }).start();
}

test('a workflow runs by the workers of a store, and again under its name it gives its result', async (t) => {
  const at = withFiles(place(t));
  assert.equal((await at.call(['push', 'elsewhere'])).code, 0);
  await works(t, at);
  const line = ['workflows', 'run', 'hello.json', '--input', '{"name": "Anna"}', '--execution-id', 'hello-1'];
  const first = await at.call(line);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stderr, /^Started hello-1\.$/m);
  const output = JSON.parse(first.stdout) as { readonly say: readonly { readonly say: { readonly stdout: string } }[] };
  assert.equal(output.say[0]?.say.stdout, 'Hello Anna');
  const again = await at.call(line);
  assert.match(again.stderr, /^Goes on with hello-1\.$/m);
  assert.equal(again.stdout, first.stdout);
  const short = await at.call([
    'workflows',
    'run',
    'hello.json',
    '--input',
    '{"name": "Al"}',
    '--up-to',
    'short',
    '--json',
  ]);
  assert.equal(short.code, 0, short.stderr);
  assert.match(short.stdout, /"short":\{"text":"Hi Al"\}/);
  const page = await at.call(['runs', 'show', 'hello-1']);
  assert.match(page.stdout, /^ {2}graph {5}[0-9a-f]{12}$/m);
  for (const node of ['start', 'long', 'say']) assert.match(page.stdout, new RegExp(`^ +${node}\\b`, 'm'));
});

test('a workflow is drawn for a terminal, for Mermaid and for programs', async (t) => {
  const { call } = withFiles(place(t));
  const { stdout, lines } = await call(['workflows', 'show', 'hello.json']);
  assert.equal(lines[0], 'hello  5 nodes');
  assert.match(stdout, /^● gpu {2}acme\/render · task of acme\/render · needs gpu, credential:acme$/m);
  assert.match(stdout, /^● long {2}core\/if · within the run\n {2}→ say\n {2}→ short \(false\)$/m);
  const mermaid = await call(['workflows', 'show', 'hello.json', '--format', 'mermaid']);
  assert.match(mermaid.stdout, /^flowchart LR\n {2}n0\["start<br>core\/start"\]$/m);
  assert.match(mermaid.stdout, /^ {2}n1 -\. false \.-> n3$/m);
  const [json] = (await call(['workflows', 'show', 'hello.json', '--json'])).objects();
  assert.equal((json?.['nodes'] as readonly unknown[] | undefined)?.length, 5);
});

test('all problems of a workflow are told with their lines, and nothing runs', async (t) => {
  const { call } = withFiles(place(t));
  const checked = await call(['workflows', 'check', 'hello.json', 'wrong.yml', 'missing.json']);
  assert.equal(checked.code, 1);
  assert.match(checked.stderr, /^hello\.json is fine\.$/m);
  assert.match(checked.stdout, /^wrong\.yml:2: nodes\[0\]\.data\.condition: /m);
  assert.match(checked.stdout, /^wrong\.yml:3: nodes\[1\]\.typeId: "no name" is not /m);
  assert.match(checked.stdout, /^missing\.json: there is no such file$/m);
  const run = await call(['workflows', 'run', 'wrong.yml']);
  assert.equal(run.code, 2);
  assert.match(run.stderr, /wrong\.yml is not valid: it has \d problems/);
  assert.equal((await call(['runs', 'list'])).stdout, '');
  const nowhere = await call(['workflows', 'run', 'hello.json', '--up-to', 'nowhere']);
  assert.equal(nowhere.code, 2);
  assert.match(nowhere.stderr, /there is no node "nowhere"/);
});

test('a workflow that fails says which node, and leaves 1', async (t) => {
  const at = withFiles(place(t));
  assert.equal((await at.call(['push', 'elsewhere'])).code, 0);
  await works(t, at);
  const failing = { nodes: [{ id: 'bad', typeId: 'system/run_command', data: { argv: ['false'] } }], connections: [] };
  writeFileSync(join(at.cwd, 'bad.json'), JSON.stringify(failing));
  const { code, stderr } = await at.call(['workflows', 'run', 'bad.json']);
  assert.notEqual(code, 0);
  assert.match(stderr, /failed: at the node bad, /);
});

test('a workflow is stored, changed, turned off and on, restored and removed from the command line', async (t) => {
  const at = withFiles(place(t));
  const call = async (...words: string[]) => {
    const done = await at.call(['workflows', ...words]);
    return { ...done, all: done.stdout + done.stderr };
  };
  const nightly = { id: 'nightly', typeId: 'core/scheduled', data: { daily: '03:00' } };
  const text = (more: object) => writeFileSync(join(at.cwd, 'Hello.json'), JSON.stringify({ ...HELLO, ...more }));
  text({ nodes: [...HELLO.nodes, nightly] });
  const first = await call('apply', '-f', 'Hello.json');
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /^\+ node nightly$/m);
  assert.match(first.stdout, /^Stored hello, version 1: on, next /m);
  assert.match((await call('apply', '-f', 'Hello.json')).stdout, /^hello has not changed: version 1, on/m);
  text({ nodes: HELLO.nodes });
  const dry = await call('apply', '-f', 'Hello.json', '--dry-run');
  assert.equal(dry.stdout, '- node nightly\nWould store hello, version 2.\n');
  const stale = await call('apply', 'hello', '-f', 'Hello.json', '--expect', '7');
  assert.equal(stale.code, 1);
  assert.match(stale.stderr, /hello has version 1, not 7/);
  assert.match((await call('apply', '-f', 'Hello.json', '--expect', '1')).stdout, /version 2: on\.$/m);
  assert.match((await call('disable', 'hello')).stdout, /^hello is off\.$/m);
  const back = await call('restore', 'hello', '1');
  assert.match(back.stdout, /^\+ node nightly\nhello has the text of version 1 again, as version 3: off\.$/m);
  assert.match((await call('enable', 'hello')).stdout, /^hello is on, next /m);
  const [shown] = (await at.call(['workflows', 'show', 'hello', '--json'])).objects();
  assert.deepEqual([shown?.['version'], shown?.['enabled']], [3, true]);
  assert.match(
    (await call('show', 'hello')).stdout,
    /^trigger {2}nightly: daily 03:00 in UTC; next .*; schedule hello\.nightly$/m,
  );
  const listed = (await at.call(['workflows', 'list', '--json'])).objects();
  assert.deepEqual(
    listed.map(({ name, version }) => [name, version]),
    [['hello', 3]],
  );
  const kept = (await at.call(['workflows', 'versions', 'hello', '--json'])).objects();
  assert.deepEqual(
    kept.map(({ version, restored }) => [version, restored]),
    [
      [3, 1],
      [2, undefined],
      [1, undefined],
    ],
  );
  await works(t, at);
  const ran = await call('run', 'hello', '--input', '{"name": "Anna"}', '--trigger', 'start');
  assert.equal(ran.code, 0, ran.stderr);
  assert.match(ran.stdout, /Hello Anna/);
  assert.match((await call('remove', 'hello')).stdout, /^Removed hello, which had version 3\.$/m);
  assert.equal((await call('show', 'hello')).code, 3);
  assert.equal((await call('run', 'hello')).code, 3);
  assert.equal((await call('apply')).code, 2);
});
