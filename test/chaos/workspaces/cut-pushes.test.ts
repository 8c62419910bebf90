/** A loop whose worker dies while its commits are on their way to the server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TwoMachines } from './two-machines.ts';

const TURN = `cat > /dev/null
pwd -P >> "$1/ran"
until [ -e "$1/work" ]; do sleep 0.02; done
echo line >> lines.txt
echo "<promise>COMPLETE</promise>"
`;

test('a worker that is killed in the middle of its push, and then in that of the merge, leaves what was there, and the run completes', {
  timeout: 120_000,
}, async (t) => {
  const scene = await TwoMachines.open(t, { 'agent.sh': TURN });
  let worker = await scene.machine('one');
  const { run } = await scene.ask('POST', '/runs', {
    name: 'cut',
    prompt: 'Write a line.',
    workspace_source: 'git',
    repo_url: scene.url,
    merge_strategy: 'squash',
    agent: { type: 'command', config: { command: ['sh', 'agent.sh', scene.notes], output: 'text' } },
    config_override: `reviewer=no\nverify_cmds=until [ -e '${scene.notes}/verify' ]; do sleep 0.02; done`,
  });
  await scene.so('the agent was asked', () => scene.turns.length === 1);
  /** The push that follows the note never arrives. */
  const cut = async (note: string): Promise<void> => {
    const push = scene.pushHeld();
    scene.note(note);
    await push.begun;
    await scene.kill(worker);
    push.release();
  };
  await cut('work');
  assert.deepEqual([scene.log('run/cut'), scene.log('main')], [['Begin'], ['Begin']]);
  worker = await scene.machine('two');
  await scene.so('the other one has pushed', () => scene.log('run/cut').length === 2);
  await cut('verify');
  assert.deepEqual([scene.log('run/cut'), scene.log('main')], [['Implementation 1', 'Begin'], ['Begin']]);
  worker = await scene.machine('one');
  const look = async () => (await scene.ask('GET', `/runs/${run.id}`)).run;
  await scene.so('the run has ended', async () => ['COMPLETED', 'FAILED'].includes((await look()).status));
  const { status, reason, merge_commit } = await look();
  assert.equal(status, 'COMPLETED', reason);
  assert.deepEqual(
    [scene.log('main'), scene.log('run/cut')],
    [
      ['Squash run/cut into main', 'Begin'],
      ['Implementation 1', 'Begin'],
    ],
  );
  assert.equal(scene.show('main', 'lines.txt'), 'line');
  assert.ok(typeof merge_commit === 'string');
});
