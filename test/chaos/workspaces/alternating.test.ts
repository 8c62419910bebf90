/** Work on one branch that goes to and fro between two machines, also because one of them dies in the middle of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TwoMachines } from './two-machines.ts';

const TIMEOUT_MS = 120_000;

/** In the place of an agent: half of a piece, and the rest of it when it is told to. `$1`: the notes of the test. */
const AGENT = `set -e
cat > /dev/null
n=$(($(wc -l < "$1/ran" 2>/dev/null || echo 0) + 1))
pwd -P >> "$1/ran"
echo half > half.txt
git -c user.name=agent -c user.email=agent@localhost commit --quiet --allow-empty -m "Half of $n"
touch "$1/up.$n"
until [ -e "$1/go.$n" ]; do sleep 0.02; done
git reset --quiet --soft HEAD~1
rm half.txt
task=$(grep -m 1 '^- \\[ \\]' plan.md | sed 's/^- \\[ \\] //')
echo "$task" >> prices.txt
awk '!done && /^- \\[ \\]/ { sub(/\\[ \\]/, "[x]"); done = 1 } { print }' plan.md > plan.new && mv plan.new plan.md
echo "I wrote down: $task"
grep -q '^- \\[ \\]' plan.md || echo "<promise>COMPLETE</promise>"
`;
const PLAN = '# Prices\n- [ ] bread 3\n- [ ] honey 8\n- [ ] milk 2\n- [ ] salt 1\n';

test('a loop whose phases alternate between two machines, killed in the middle of two of them, ends with the right history', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const scene = await TwoMachines.open(t, {
    'plan.md': PLAN,
    'agent.sh': AGENT,
    'check.sh': "! grep -v '[0-9]$' prices.txt\n",
  });
  let one = await scene.machine('one');
  const { run } = await scene.ask('POST', '/runs', {
    name: 'price list',
    plan_path: 'plan.md',
    prompt: 'Write the price list.',
    workspace_source: 'git',
    repo_url: scene.url,
    merge_strategy: 'merge',
    agent: { type: 'command', config: { command: ['sh', 'agent.sh', scene.notes], output: 'text' } },
    config_override: 'reviewer=no\nverify_cmds=sh check.sh\nclaude_retry_backoff_sec=0',
  });
  assert.deepEqual(
    [run.workspace_source, run.repo_url, run.workspace_root],
    ['git', scene.url, scene.url],
    JSON.stringify(run),
  );
  const works = (turn: number): Promise<void> => scene.so(`turn ${turn} has begun`, () => scene.noted(`up.${turn}`));
  const look = async () => (await scene.ask('GET', `/runs/${run.id}`)).run;

  await works(1);
  await scene.kill(one);
  assert.deepEqual(scene.log('run/price-list'), ['Begin'], 'half of a phase is seen by nobody');
  let two = await scene.machine('two');
  await works(2);
  scene.note('go.2');
  // It goes on where it is, and dies there in the middle of the next phase.
  await works(3);
  assert.deepEqual(scene.log('run/price-list'), ['Implementation 1', 'Begin']);
  await scene.kill(two);
  one = await scene.machine('one');
  await works(4);
  await scene.ask('POST', `/runs/${run.id}/pause`);
  scene.note('go.4');
  await scene.so('the run is paused', async () => (await look()).status === 'PAUSED');
  assert.deepEqual(scene.log('run/price-list'), ['Implementation 2', 'Implementation 1', 'Begin']);
  await scene.so('a run that waits holds no folder', () => scene.left('one').length === 0);
  await scene.drain(one);
  two = await scene.machine('two');
  await scene.ask('POST', `/runs/${run.id}/resume`);
  await works(5);
  await scene.ask('POST', `/runs/${run.id}/pause`);
  scene.note('go.5');
  await scene.so('the run is paused again', async () => (await look()).status === 'PAUSED');
  await scene.drain(two);
  await scene.machine('one');
  await scene.ask('POST', `/runs/${run.id}/resume`);
  await works(6);
  scene.note('go.6');
  await scene.so('the run has ended', async () => ['COMPLETED', 'FAILED'].includes((await look()).status));

  const ended = await look();
  assert.equal(ended.status, 'COMPLETED', ended.reason);
  assert.deepEqual(scene.turns, ['one', 'two', 'two', 'one', 'two', 'one']);
  const pieces = [4, 3, 2, 1].map((n) => `Implementation ${n}`);
  assert.deepEqual(scene.log('run/price-list'), [...pieces, 'Begin']);
  assert.deepEqual(scene.log('main').slice(0, 2), ['Merge run/price-list into main', 'Implementation 4']);
  assert.equal(scene.show('main', 'prices.txt'), 'bread 3\nhoney 8\nmilk 2\nsalt 1');
  assert.ok(!scene.files('main').includes('half.txt'));
  assert.deepEqual(scene.branches(), ['main', 'run/price-list']);
  assert.deepEqual([ended.worktree_cleanup_status, scene.left('one')], ['cleaned', []]);
  const diff = await scene.ask('GET', `/runs/${run.id}/diff`);
  assert.deepEqual(
    diff.files.map(({ path }: { readonly path: string }) => path),
    ['plan.md', 'prices.txt'],
  );
  assert.equal((await scene.ask('POST', `/runs/${run.id}/merge`)).commit, ended.merge_commit);
});

/** Half of a step, and the rest of it when it is told to. */
const STEP = `pwd -P >> "$1/ran"
echo half > half.txt
if [ "$2" = hold ] && [ ! -e "$1/go" ]; then touch "$1/up"; until [ -e "$1/go" ]; do sleep 0.02; done; fi
rm half.txt
echo "$2" >> steps.txt
`;

test('steps with a workspace that alternate between two machines, one of them killed, give one history', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const scene = await TwoMachines.open(t, { 'step.sh': STEP });
  await scene.machine('one');
  let two = await scene.machine('two');
  const steps = [
    ['one', 'a'],
    ['two', 'b'],
    ['one', 'c'],
    ['two', 'hold'],
    ['one', 'e'],
  ] as const;
  const tasks = steps.map(([machine, name], at) => ({
    name,
    queue: 'shell',
    handler: 'shell',
    input: {
      argv: ['sh', 'step.sh', scene.notes, name],
      workspace: { source: 'git', repo: scene.url, branch: 'run/steps', publish: 'push' },
      commit: `Step ${name}`,
    },
    placement: { requires: ['workspace=git'], only: [machine] },
    maxAttempts: 5,
    after: at === 0 ? [] : [steps[at - 1]?.[1] as string],
  }));
  const pushed = await scene.ask('POST', '/api/v1/graphs', { tasks });
  const { id: last } = pushed.tasks.at(-1);
  await scene.so('the fourth step is in its middle', () => scene.noted('up'));
  await scene.kill(two);
  assert.deepEqual(scene.log('run/steps'), ['Step c', 'Step b', 'Step a', 'Begin']);
  scene.note('go');
  two = await scene.machine('two');
  const stateOf = async (id: string): Promise<string> => (await scene.ask('GET', `/api/v1/tasks/${id}`)).state;
  await scene.so('the last step has ended', async () => ['completed', 'failed'].includes(await stateOf(last)));
  assert.equal(await stateOf(last), 'completed');
  assert.deepEqual(scene.turns, ['one', 'two', 'one', 'two', 'two', 'one']);
  assert.deepEqual(scene.log('run/steps'), ['Step e', 'Step hold', 'Step c', 'Step b', 'Step a', 'Begin']);
  assert.equal(scene.show('run/steps', 'steps.txt'), 'a\nb\nc\nhold\ne');
  assert.ok(!scene.files('run/steps').includes('half.txt'));
  await scene.drain(two);
});
