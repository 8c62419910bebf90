/** The files of runs of loopd among their artifacts, on a node whose worker has a root. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '../../../test/support/git/scratch.ts';
import { type NodeScene, nodeScene, type Wire } from '../../../test/support/node-scene.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';

const temp = realpathSync(tempFolder('loopd-files'));
let scenes = 0;

const STORES = {
  sqlite: async () => ({}),
  postgres: async () => ({ store: await freshDatabase('loopd') }),
};

/** It writes a line into a file, and is done with the second. */
const AGENT = `cat > /dev/null
echo line >> done.txt
echo "I wrote line $(wc -l < done.txt | tr -d ' ') of the file done.txt"
[ "$(wc -l < done.txt)" -ge 2 ] && echo "<promise>COMPLETE</promise>"
exit 0`;

interface FilesScene extends NodeScene {
  readonly folder: string;
  /** The bytes of artifacts. */
  readonly place: string;
  readonly finished: (config: string) => Promise<Wire>;
  readonly steps: (id: string) => Promise<readonly Wire[]>;
  readonly content: (address: string) => Promise<string>;
}

async function filesScene(t: TestContext, kind: keyof typeof STORES, more: object = {}): Promise<FilesScene> {
  const root = join(temp, `${++scenes}`);
  const [folder, place] = [join(root, 'shop'), join(root, 'artifacts')];
  for (const one of [folder, place]) mkdirSync(one, { recursive: true });
  const scene = await nodeScene(t, { ...(await STORES[kind]()), artifactStore: place, ...more });
  const { machineHandler } = await import('../../app/machines/machine-handler.ts');
  const tasks = [machineHandler({ loopRoots: { main: root }, programs: true })];
  const worker = scene.service.app.worker({ tasks, slots: 4, name: 'box' });
  await worker.start();
  t.after(() => worker.stop({ drain: false }));
  const get = async (id: string): Promise<Wire> => (await scene.call('getLoop', `/runs/${id}`)).run;
  const finished = async (config: string): Promise<Wire> => {
    const agent = { type: 'command', config: { command: ['sh', '-c', AGENT], output: 'text' } };
    const body = { workspace_root: 'main/shop', prompt: 'Sell things.', agent, config_override: config };
    const { id } = (await scene.call('startLoop', '/runs', { body })).run;
    await until('it has ended', async () => ['COMPLETED', 'FAILED'].includes((await get(id)).status));
    return get(id);
  };
  const steps = async (id: string): Promise<readonly Wire[]> =>
    (await scene.call('listLoopSteps', `/runs/${id}/steps`)).steps;
  const content = async (address: string): Promise<string> =>
    (await fetch(scene.url(address), { headers: scene.headers({}) })).text();
  return Object.assign(scene, { folder, place, finished, steps, content });
}

for (const kind of ['sqlite', 'postgres'] as const)
  test(`a run leaves its files as artifacts, and its steps say where: ${kind}`, async (t) => {
    const scene = await filesScene(t, kind);
    const run = await scene.finished('verify_cmds=test -s done.txt\nreviewer=false');
    assert.deepEqual([run.status, run.artifact_store], ['COMPLETED', 'global']);
    const [first, verified, ...more] = await scene.steps(run.id);
    assert.match(first.output_path, /^\/api\/v1\/artifacts\/art_[0-9a-f]{32}\/content$/);
    assert.match(await scene.content(first.output_path), /^I wrote line 1 of the file done\.txt\n$/);
    assert.match(await scene.content(first.prompt_path), /^Sell things\./);
    assert.match(await scene.content(verified.output_path), /^\$ test -s done\.txt\n/);
    assert.deepEqual([verified.prompt_path, more.every(({ output_path }) => output_path !== null)], [null, true]);
    const { artifacts } = await scene.call('listArtifacts', `/api/v1/artifacts?task=${run.id}`);
    const named = new Map<string, Wire>(artifacts.map((one: Wire) => [one.name, one]));
    for (const name of ['prompt.txt', 'report.tsv', 'summary.json', 'iter-02-impl.log', 'iter-02.tail.txt'])
      assert.equal(named.get(`loop/${name}`)?.kind, 'output', name);
    const text = (name: string): Promise<string> => scene.content(`/api/v1/artifacts/${named.get(name)?.id}/content`);
    const summary = JSON.parse(await text('loop/summary.json'));
    assert.deepEqual([summary.run_id, summary.status, summary.iterations], [run.id, 'COMPLETED', 2]);
    const rows = (await text('loop/report.tsv')).trimEnd().split('\n');
    assert.equal(rows.length, 7);
    assert.equal(rows[1]?.split('\t')[7], first.output_path);
    assert.deepEqual(readdirSync(scene.folder), ['done.txt'], 'nothing is in the workspace');
  });

test('with the mode mirror the files are in both places, and with the mode workspace in one', async (t) => {
  const scene = await filesScene(t, 'sqlite');
  const run = await scene.finished('artifact_mode=mirror\nreviewer=false');
  assert.deepEqual([run.status, run.artifact_store], ['COMPLETED', 'mirror']);
  const [first] = await scene.steps(run.id);
  assert.match(first.output_path, /^logs\/loop\/run-[\w-]+\/iter-01-impl\.log$/);
  assert.match(readFileSync(join(scene.folder, first.output_path), 'utf8'), /^I wrote line 1/);
  const listed = async (id: string): Promise<readonly string[]> =>
    (await scene.call('listArtifacts', `/api/v1/artifacts?task=${id}`)).artifacts.map(({ name }: Wire) => name);
  const files = readdirSync(join(scene.folder, first.output_path, '..')).filter((name) => name !== '.gitignore');
  assert.deepEqual((await listed(run.id)).toSorted(), files.map((name) => `loop/${name}`).toSorted());
  const other = await scene.finished('artifact_mode=workspace\nreviewer=false');
  assert.deepEqual([other.status, other.artifact_store, await listed(other.id)], ['COMPLETED', 'workspace', []]);
  assert.ok(existsSync(join(scene.folder, 'logs/loop', `run-${other.id}`, 'summary.json')));
});

test('a run whose files find no room goes on to its end, and its log says what was not written', async (t) => {
  const scene = await filesScene(t, 'sqlite', { artifactTaskQuota: 10 });
  const run = await scene.finished('reviewer=false');
  assert.equal(run.status, 'COMPLETED');
  const steps = await scene.steps(run.id);
  // A phase that says nothing needs no room.
  const said = steps.filter(({ phase }) => phase === 'implementation');
  assert.deepEqual(
    said.map(({ output_path }) => output_path),
    [null, null],
  );
  const lines = await scene.engine.logs.read(scene.engine.parseId(run.id), { limit: 1000 });
  assert.ok(JSON.stringify(lines).includes('a file of the run could not be written'));
});
