/** The files of a loop: below real folders, in virtual time. Those among artifacts are tested at a node, with the routes of loopd. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { git, scratchRepository } from '../../../test/support/git/scratch.ts';
import { DurableScene } from '../../../test/support/runs/durable-scene.ts';
import { COMPLETION_TOKEN as TOKEN } from '../../flow/loop/completion.ts';
import { contextOf, FIRST } from '../../flow/loop/loop-state.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { AgentFunction } from '../agents/registry.ts';
import { readMachineFile } from '../machine/load-machine.ts';
import { hookedLoops, logLine } from './hooked-loop.ts';
import { withFiles } from './loop-files.ts';

const LOOP = await readMachineFile(join(import.meta.dirname, '../../../machines/loop.yml'));
const temp = tempFolder('loop-files');
let scenes = 0;

interface Scene extends DurableScene {
  readonly root: string;
  readonly folder: string;
  readonly files: string;
}

async function sceneWith(t: TestContext, coder: AgentFunction): Promise<Scene> {
  const root = join(temp, `${++scenes}`);
  const folder = join(root, 'shop');
  mkdirSync(folder, { recursive: true });
  const scene = await DurableScene.open(t, { agents: { coder }, loopRoots: new Map([['main', root]]) });
  return Object.assign(scene, { root, folder, files: join(folder, 'logs/loop/run-run') });
}

const input = (config: string, more: object = {}): object => ({
  workspace: 'main/shop',
  agent: 'coder',
  prompt: 'Count to two.',
  config: `claude_timeout_sec=0\nreviewer=no\n${config}`,
  ...more,
});

/** Writes one line for each call, and is done with the second. */
const counting: AgentFunction = ({ workspace }) => {
  const file = join(workspace as string, 'count.txt');
  const before = existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
  if (before < 2) appendFileSync(file, 'line\n');
  return `I wrote the line with the number ${before + 1} into count.txt${before >= 1 ? `\n${TOKEN}` : ''}`;
};

async function run(scene: DurableScene, given: object, crashAt?: number): Promise<string> {
  const task = await scene.start(LOOP, given);
  await scene.work(crashAt === undefined ? {} : { crashAt });
  return (await scene.end(task)).state;
}

const rowsOf = ({ files }: Scene): readonly (readonly string[])[] =>
  readFileSync(join(files, 'report.tsv'), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));
const kindsOf = (scene: Scene): readonly string[] => rowsOf(scene).map(([, kind, n]) => `${kind} ${n}`);

test('with the mode workspace a run leaves what its phases said, its prompt, a report and a summary', async (t) => {
  const scene = await sceneWith(t, counting);
  writeFileSync(join(scene.folder, 'plan.md'), '- [x] one\n- [ ] two\n');
  const given = input('artifact_mode=workspace\nverify_cmds=echo looking; test -s count.txt', { plan_path: 'plan.md' });
  assert.equal(await run(scene, given), 'completed');
  const names = ['impl', 'verify'].flatMap((slug) => [`iter-01-${slug}.log`, `iter-02-${slug}.log`]);
  const others = ['.gitignore', 'iter-01.tail.txt', 'iter-02.tail.txt', 'iter-02-merge.log', 'prompt.txt'];
  const there = readdirSync(scene.files).filter((name) => !name.includes('watchdog'));
  assert.deepEqual(there.toSorted(), [...names, ...others, 'report.tsv', 'summary.json'].toSorted());
  const read = (name: string): string => readFileSync(join(scene.files, name), 'utf8');
  assert.match(read('prompt.txt'), /^Count to two\./);
  assert.equal(read('iter-01-impl.log'), 'I wrote the line with the number 1 into count.txt\n');
  assert.equal(read('iter-02.tail.txt'), `I wrote the line with the number 2 into count.txt\n${TOKEN}\n`);
  assert.match(read('iter-01-verify.log'), /^\$ echo looking; test -s count\.txt\nlooking\npassed: exit code 0\n$/);
  assert.equal(read('iter-02-merge.log'), 'nothing to merge: the strategy is none\n');
  const summary = JSON.parse(read('summary.json'));
  assert.deepEqual(
    [summary.run_id, summary.status, summary.iterations, summary.tasks_done, summary.tasks_total],
    ['run', 'COMPLETED', 2, 1, 2],
  );
  const rows = rowsOf(scene);
  assert.deepEqual(
    kindsOf(scene).filter((kind) => !kind.startsWith('watchdog')),
    ['impl 1', 'verify 1', 'impl 2', 'verify 2', 'merge 2', 'run 2'],
  );
  const [first] = rows;
  assert.deepEqual(first?.slice(4), ['0', '50', '1', 'logs/loop/run-run/iter-01-impl.log', '', '1', '2']);
});

test('by default, and without a summary where none is wanted, nothing is written into the workspace', async (t) => {
  const scene = await sceneWith(t, counting);
  assert.equal(await run(scene, input('')), 'completed');
  assert.deepEqual(readdirSync(scene.folder), ['count.txt']);
  const other = await sceneWith(t, counting);
  assert.equal(await run(other, input('artifact_mode=mirror\nsummary_json=false')), 'completed');
  assert.ok(existsSync(join(other.files, 'report.tsv')));
  assert.ok(!existsSync(join(other.files, 'summary.json')));
});

test('files of a run in a repository are in no commit, and neither its next run nor a merge finds them in its way', async (t) => {
  const scene = await sceneWith(t, counting);
  scratchRepository(scene.folder);
  const config = 'artifact_mode=workspace\nmerge_strategy=merge\nworktree_cleanup=false';
  assert.equal(await run(scene, input(config, { name: 'Count it' })), 'completed');
  assert.ok(existsSync(join(scene.files, 'summary.json')));
  assert.equal(git(scene.folder, 'status', '--porcelain'), '');
  assert.deepEqual(git(scene.folder, 'ls-tree', '-r', '--name-only', 'main').split('\n'), ['README.md', 'count.txt']);
  assert.equal(git(scene.folder, 'log', '--all', '--format=%s', '--', 'logs'), '');
  assert.match(JSON.parse(readFileSync(join(scene.files, 'summary.json'), 'utf8')).merge_commit, /^[0-9a-f]{40}$/);
  const again = await DurableScene.open(t, { agents: { coder: counting }, loopRoots: new Map([['main', scene.root]]) });
  assert.equal(await run(again, input(config, { name: 'Once more' })), 'completed');
});

test('whatever commit is the last of its process, each phase has one row', async (t) => {
  const whole = await sceneWith(t, counting);
  const given = input('artifact_mode=workspace');
  assert.equal(await run(whole, given), 'completed');
  for (let at = 1; at < whole.turns; at++) {
    const scene = await sceneWith(t, counting);
    assert.equal(await run(scene, given, at), 'completed');
    const kinds = kindsOf(scene);
    assert.equal(new Set(kinds).size, kinds.length, `after commit ${at}`);
    assert.deepEqual([kinds[0], kinds.at(-1)?.split(' ')[0]], ['impl 1', 'run'], `after commit ${at}`);
  }
});

test('a prompt that the watchdog has rewritten is a file of its own, and a run that fails says why', async (t) => {
  const scene = await sceneWith(
    t,
    () => 'I looked at the build, which fails, and could not find out why it does so today.',
  );
  assert.equal(await run(scene, input('artifact_mode=workspace')), 'failed');
  const read = (name: string): string => readFileSync(join(scene.files, name), 'utf8');
  assert.doesNotMatch(read('prompt.txt'), /nearly the same/);
  for (const name of ['prompt.rewrite.1.txt', 'prompt.rewrite.2.txt']) assert.match(read(name), /nearly the same/);
  assert.ok(!existsSync(join(scene.files, 'prompt.rewrite.3.txt')));
  const { status, reason } = JSON.parse(read('summary.json'));
  assert.deepEqual([status, reason], ['FAILED', 'watchdog_failed:repeated_task']);
  assert.equal(rowsOf(scene).at(-1)?.[8], 'watchdog_failed:repeated_task');
});

test('files that cannot be written fail no run, and no link leads them elsewhere', async (t) => {
  for (const place of ['logs', 'logs/loop', 'logs/loop/run-run']) {
    const elsewhere = join(temp, `elsewhere-${++scenes}`);
    mkdirSync(elsewhere);
    const scene = await sceneWith(t, counting);
    mkdirSync(join(scene.folder, place, '..'), { recursive: true });
    symlinkSync(elsewhere, join(scene.folder, place));
    assert.equal(await run(scene, input('artifact_mode=workspace')), 'completed');
    assert.deepEqual(readdirSync(elsewhere), [], place);
    const told = scene.logged.filter((line) => line.includes('could not be written'));
    assert.equal(told.length, 1, 'it is told once');
  }
  const scene = await sceneWith(t, counting);
  mkdirSync(join(scene.files, 'prompt.txt'), { recursive: true });
  const outside = join(temp, `outside-${++scenes}`);
  writeFileSync(outside, 'mine');
  symlinkSync(outside, join(scene.files, 'report.tsv'));
  assert.equal(await run(scene, input('artifact_mode=workspace')), 'completed');
  assert.equal(readFileSync(outside, 'utf8'), 'mine');
  assert.ok(rowsOf(scene).length > 2, 'the link was replaced');
});

test('what a run has read of its credentials is in none of its files', async (t) => {
  const { folder, files, root } = await sceneWith(t, counting);
  const host = { roots: new Map([['main', root]]), shell: false, environment: () => ({}), timers: new RealTimers() };
  const hide = (text: string): string => text.replaceAll('s3cret', '***');
  const hooked = {
    machine: 'loop',
    settings: {},
    executionId: 'run',
    stop: new AbortController().signal,
    files: { artifacts: undefined, hide, now: () => 1 },
  };
  const context = { ...contextOf(FIRST), given: input('artifact_mode=workspace') };
  const given = await hookedLoops.run(hooked, () =>
    withFiles('implementation', { host, context, prompt: 'Use s3cret.' }, () => {
      logLine('the key is s3cret');
      return { status: 'FAILED', output: 'I used s3cret.', message: 's3cret is wrong' };
    }),
  );
  assert.equal(given['output_path'], 'logs/loop/run-run/iter-01-impl.log');
  const texts = readdirSync(files).map((name) => readFileSync(join(files, name), 'utf8'));
  assert.ok(texts.some((text) => text.includes('the key is ***')));
  assert.ok(texts.every((text) => !text.includes('s3cret')));
  assert.deepEqual(readdirSync(folder), ['logs']);
});

class RealTimers {
  after(ms: number, act: () => void): () => void {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  }

  soon(act: () => void): void {
    setImmediate(act);
  }
}
