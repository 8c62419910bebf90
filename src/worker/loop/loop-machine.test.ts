/** The machine `loop` as a durable run, in virtual time: its agents are functions, its commands real ones. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DurableScene, type DurableSceneOptions } from '../../../test/support/runs/durable-scene.ts';
import { LOOP_CHANNELS } from '../../flow/loop/channels.ts';
import { COMPLETION_TOKEN as TOKEN } from '../../flow/loop/completion.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { AgentFunction } from '../agents/registry.ts';
import { readMachineFile } from '../machine/load-machine.ts';
import type { MachineSource } from '../machine/loader-options.ts';

const LOOP = await readMachineFile(join(import.meta.dirname, '../../../machines/loop.yml'));
const temp = tempFolder('loop-machine');
let scenes = 0;

interface LoopScene extends DurableScene {
  readonly folder: string;
}

async function loopScene(
  t: TestContext,
  agents: Readonly<Record<string, AgentFunction>>,
  more: DurableSceneOptions = {},
): Promise<LoopScene> {
  const root = join(temp, `${++scenes}`);
  const folder = join(root, 'project');
  mkdirSync(folder, { recursive: true });
  const scene = await DurableScene.open(t, { agents, loopRoots: new Map([['main', root]]), ...more });
  return Object.assign(scene, { folder });
}

const input = (config: string, more: object = {}): object => ({
  workspace: 'main/project',
  agent: 'coder',
  prompt: 'Count to three.',
  config: `claude_timeout_sec=0\n${config}`,
  ...more,
});

/** Writes one line for each call, and is done with the third. */
const counting: AgentFunction = ({ workspace, phase }) => {
  const file = join(workspace as string, 'count.txt');
  const done = existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
  if (phase === 'review') return `I looked at line ${done}.`;
  appendFileSync(file, `line ${done + 1}\n`);
  return `I wrote the line with the number ${done + 1} into count.txt${done === 2 ? `\n${TOKEN}` : ''}`;
};

const phases = async (scene: DurableScene, task: number): Promise<string> => {
  const names = new Set(['implementation', 'review', 'verification', 'watchdog', 'merge', 'paused', 'failed']);
  const journal = await scene.engine.journal(task);
  return journal
    .flatMap(({ value }) => {
      const { state } = JSON.parse(value ?? '{}') as { state?: string };
      return state !== undefined && names.has(state) ? [state] : [];
    })
    .join(' ');
};

async function run(
  scene: DurableScene,
  given: object,
  source: MachineSource = LOOP,
): Promise<{ task: number; state: string; output: unknown }> {
  const task = await scene.start(source, given);
  await scene.work();
  return { task, ...(await scene.end(task)) };
}

test('a loop goes on from phase to phase until its agent is done and the checks pass', async (t) => {
  const scene = await loopScene(t, { coder: counting });
  const { task, state, output } = await run(scene, input('verify_cmds=test -s count.txt'));
  assert.equal(state, 'completed', JSON.stringify(output));
  assert.deepEqual(
    { ...(output as object), output: '' },
    { status: 'COMPLETED', iterations: 3, rewrites: 0, output: '' },
  );
  assert.equal(readFileSync(join(scene.folder, 'count.txt'), 'utf8'), 'line 1\nline 2\nline 3\n');
  const turn = 'implementation review verification';
  assert.equal(await phases(scene, task), `${turn} ${turn} ${turn} merge`);
});

test('without a reviewer the verification follows at once', async (t) => {
  const scene = await loopScene(t, { coder: counting });
  const { task, state } = await run(scene, input('reviewer=no'));
  assert.equal(state, 'completed');
  const turn = 'implementation verification';
  assert.equal(await phases(scene, task), `${turn} ${turn} ${turn} merge`);
});

test('a verification that fails sends the work back, and the next prompt says what the commands said', async (t) => {
  const prompts: string[] = [];
  const coder: AgentFunction = ({ workspace, prompt }) => {
    prompts.push(String(prompt));
    writeFileSync(join(workspace as string, 'tries'), `${prompts.length}`);
    return `Try number ${prompts.length} of mine.\n${TOKEN}`;
  };
  const scene = await loopScene(t, { coder });
  const check = 'echo looking; test "$(cat tries)" = 2 || { echo it is not two; exit 3; }';
  const { task, state } = await run(
    scene,
    input('', { config: { reviewer: false, claude_timeout_sec: 0, verify_cmds: [check, 'true'] } }),
  );
  assert.equal(state, 'completed');
  assert.equal(await phases(scene, task), 'implementation verification implementation verification merge');
  assert.ok(!prompts[0]?.includes('checks failed'));
  assert.match(prompts[1] ?? '', /checks failed[\s\S]*exit code 3[\s\S]*it is not two/);
  assert.ok(scene.logged.includes('it is not two'), 'the log has it as well');
  assert.ok(scene.logged.includes('$ true'), 'the command after it has run');
});

test('a loop that is never done fails with its bound, and a retry gives it all of its iterations once more', async (t) => {
  let said = 0;
  const coder: AgentFunction = () => `This is piece of work number ${++said}, about ${'abc'.repeat(said)}.`;
  const scene = await loopScene(t, { coder });
  const { task, state, output } = await run(scene, input('reviewer=no\niterations=2'));
  assert.deepEqual(
    [state, output],
    ['failed', { name: 'LoopFailed', message: 'iteration_limit_reached:2', state: 'failed' }],
  );
  assert.equal(said, 2);
  await scene.engine.retry(task);
  await scene.work();
  assert.deepEqual([(await scene.end(task)).state, said], ['failed', 4]);
});

test('a loop that has failed fails again after a crash, and does not take it for a retry', async (t) => {
  let said = 0;
  const coder: AgentFunction = () => `This is piece of work number ${++said}, about ${'abc'.repeat(said)}.`;
  const whole = await loopScene(t, { coder });
  await run(whole, input('reviewer=no\niterations=1'));
  for (let at = 1; at < whole.turns; at++) {
    const scene = await loopScene(t, { coder });
    const task = await scene.start(LOOP, input('reviewer=no\niterations=1'));
    await scene.work({ crashAt: at });
    assert.equal(scene.crashes, 1);
    const { state, output } = await scene.end(task);
    assert.deepEqual(
      [state, (output as { message: string }).message],
      ['failed', 'iteration_limit_reached:1'],
      `after commit ${at}`,
    );
  }
});

test('verifications that fail too often in a row end the run, also when a crash came between them', async (t) => {
  const coder: AgentFunction = ({ workspace }) => {
    appendFileSync(join(workspace as string, 'tries'), 'x');
    return `The length of the file is now ${readFileSync(join(workspace as string, 'tries'), 'utf8').length}.`;
  };
  const given = input('reviewer=no\nverify_cmds=false\nmax_consecutive_verification_failures=2');
  const whole = await loopScene(t, { coder });
  const { output } = await run(whole, given);
  assert.equal((output as { message: string }).message, 'consecutive_verification_failures:2');
  const scene = await loopScene(t, { coder });
  const task = await scene.start(LOOP, given);
  await scene.work({ crashAt: Math.floor(whole.turns / 2) });
  assert.deepEqual([scene.crashes, (await scene.end(task)).output], [1, output]);
  assert.equal(await phases(scene, task), await phases(whole, (await whole.engine.list({ limit: 1 }))[0]?.task ?? 0));
});

test('an agent that says the same again has its prompt rewritten twice, and then the run fails', async (t) => {
  const prompts: string[] = [];
  const coder: AgentFunction = ({ prompt }) => {
    prompts.push(String(prompt));
    return 'I looked at the build, which fails, and could not find out why it does so today.';
  };
  const scene = await loopScene(t, { coder });
  const { task, output } = await run(scene, input('reviewer=no'));
  assert.equal((output as { message: string }).message, 'watchdog_failed:repeated_task');
  assert.equal((await phases(scene, task)).split(' ').filter((phase) => phase === 'watchdog').length, 3);
  assert.deepEqual(
    prompts.map((prompt) => prompt.includes('said nearly the same')),
    [false, false, true, true],
  );
});

test('what fails for a moment is tried again within its phase, and what does not ends the run', async (t) => {
  let calls = 0;
  const passing: AgentFunction = () => {
    if (++calls < 4) throw Object.assign(new Error('503 Service Unavailable'), { name: 'ApiError' });
    return TOKEN;
  };
  const scene = await loopScene(t, { coder: passing });
  const { task, state } = await run(scene, input('reviewer=no'));
  assert.deepEqual([state, calls], ['completed', 4]);
  assert.equal(await phases(scene, task), 'implementation verification merge', 'one phase for all tries');
  const broken = await loopScene(t, { coder: () => Promise.reject(new Error('no such model')) });
  const { output } = await run(broken, input('reviewer=no\nclaude_retries=0'));
  assert.equal((output as { message: string }).message, 'implementation_failed: Error: no such model');
});

test('an agent that takes too long is stopped, and counts as failed', async (t) => {
  let stopped = 0;
  const slow: AgentFunction = (_input, { signal }) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => (stopped++, reject(signal.reason as Error))),
    );
  const scene = await loopScene(t, { coder: slow });
  const { output } = await run(scene, input('reviewer=no\nclaude_timeout_sec=7\nclaude_retries=1'));
  assert.match((output as { message: string }).message, /^implementation_failed: TimeoutError: .*7 s/);
  assert.equal(stopped, 2, 'and was asked once more, as the config says');
});

test('an input that is wrong fails the run with all of its problems, before anything is asked', async (t) => {
  const scene = await loopScene(t, { coder: counting });
  const { state, output } = await run(scene, {
    workspace: '../x',
    agent: 'coder',
    prompt: 'x',
    config: 'iterations=0',
  });
  assert.equal(state, 'failed');
  assert.match((output as { message: string }).message, /2 problems/);
  const nowhere = await run(scene, input('', { workspace: 'other/project' }));
  assert.match((nowhere.output as { message: string }).message, /root of workspaces/);
  const noPlan = await run(scene, input('', { plan_path: 'plan.md' }));
  assert.match((noPlan.output as { message: string }).message, /plan\.md/);
});

test('a run that was told to pause waits between two phases, holds nothing, and goes on when it is told', async (t) => {
  const scene = await loopScene(t, { coder: counting });
  const task = await scene.start(LOOP, input('verify_cmds=test -s count.txt'));
  await scene.engine.waits.signal(LOOP_CHANNELS.pause('run'), { n: 1 });
  await scene.work();
  const paused = await scene.engine.get(task);
  assert.deepEqual([paused?.state, paused?.holder ?? null], ['waiting', null]);
  assert.ok(!existsSync(join(scene.folder, 'count.txt')), 'no phase has begun');
  await scene.engine.waits.signal(LOOP_CHANNELS.resume('run'), { n: 1 });
  await scene.work();
  assert.equal((await scene.end(task)).state, 'completed');
  assert.match(await phases(scene, task), /^paused implementation /);
});

test('a pause survives a crash after each commit around it', async (t) => {
  const pausing =
    (scene: () => LoopScene): AgentFunction =>
    async (given, call) => {
      const said = (await counting(given, call)) as string;
      if (said.includes('number 1 '))
        await scene().engine.waits.signal(LOOP_CHANNELS.pause('run'), { n: 1 }, { op: 'p1' });
      return said;
    };
  let scene: LoopScene;
  const once = async (crashAt?: number): Promise<void> => {
    scene = await loopScene(t, { coder: pausing(() => scene) });
    const task = await scene.start(LOOP, input('reviewer=no'));
    await scene.work(crashAt === undefined ? {} : { crashAt });
    const waiting = await scene.engine.get(task);
    assert.equal(waiting?.state, 'waiting', `after commit ${crashAt}`);
    await scene.engine.waits.signal(LOOP_CHANNELS.resume('run'), { n: 1 });
    await scene.work();
    assert.equal((await scene.end(task)).state, 'completed');
  };
  await once();
  const all = 12;
  for (let at = 3; at < all; at++) await once(at);
});

test('whatever commit is the last of its process, another one ends the loop in the same way', async (t) => {
  // The same line is written by every attempt at the same iteration.
  const repeatable: AgentFunction = ({ workspace, phase, prompt }) => {
    const folder = workspace as string;
    if (phase === 'review') return 'It is fine.';
    const n =
      Number(/number (\d+)/.exec(String(prompt))?.[1] ?? 0) +
      (existsSync(join(folder, 'b')) ? 2 : existsSync(join(folder, 'a')) ? 1 : 0);
    const name = ['a', 'b', 'c'][Math.min(n, 2)] as string;
    writeFileSync(join(folder, name), name);
    return `I have written the file ${name}, as it is asked for by the plan${name === 'c' ? `\n${TOKEN}` : ''}`;
  };
  const given = input('verify_cmds=test -e a');
  const whole = await loopScene(t, { coder: repeatable });
  const first = await run(whole, given);
  assert.equal(first.state, 'completed');
  for (let at = 1; at < whole.turns; at++) {
    const scene = await loopScene(t, { coder: repeatable });
    const task = await scene.start(LOOP, given);
    await scene.work({ crashAt: at });
    const { state, output } = await scene.end(task);
    assert.deepEqual([scene.crashes, state], [1, 'completed'], `after commit ${at}`);
    assert.equal((output as { status: string }).status, 'COMPLETED');
  }
});

test('a loop of as many iterations as there are by default is kept whole, however much everybody says', async (t) => {
  let said = 0;
  const talker: AgentFunction = ({ phase }) => {
    const words = Array.from({ length: 10_000 }, (_, i) => `${String(phase)} ${++said} ${i * said}`);
    return words.join('\n');
  };
  const scene = await loopScene(t, { coder: talker });
  const { task, output } = await run(
    scene,
    input('', {
      prompt: `Say much. ${'x'.repeat(200_000)}`,
      config: 'claude_timeout_sec=0\nmax_consecutive_verification_failures=0\nverify_cmds=seq 100000; exit 1',
    }),
  );
  assert.equal((output as { message: string }).message, 'iteration_limit_reached:50');
  const journal = await scene.engine.journal(task);
  const bytes = journal.reduce((sum, { key, value = '' }) => sum + key.length + (value?.length ?? 0), 0);
  assert.ok(bytes < 6 * 1024 * 1024, `${bytes} bytes`);
});
