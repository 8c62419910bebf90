// Workflows of branches whose speed differs in each attempt, with a crash after a commit: each branch must be given what its own steps gave.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testWorkflow, VirtualWorld, type WorkflowTested } from '../../testing.ts';
import { task } from '../define/task.ts';
import { workflow } from './workflow.ts';
import type { WorkflowContext } from './workflow-context.ts';

const SEEDS = 150;

/** What a branch does, one after the other. Steps of all branches share their names. */
type Act = 'step' | 'quick' | 'child' | 'sleep' | 'race' | 'fail';
const ACTS: readonly Act[] = ['step', 'step', 'quick', 'child', 'sleep', 'race', 'fail'];

const echo = task('echo', { run: (input) => input });

test('branches are given what is their own, whatever the speed of an attempt and wherever it crashes', async () => {
  let crashes = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const draw = new VirtualWorld({ seed }).random;
    const plan = Array.from({ length: 1 + Math.floor(draw() * 5) }, () =>
      Array.from({ length: 1 + Math.floor(draw() * 5) }, () => ACTS[Math.floor(draw() * ACTS.length)] as Act),
    );
    const undisturbed = await once(plan, seed, undefined);
    assert.equal(undisturbed.state, 'completed', `seed ${seed}: ${JSON.stringify(undisturbed)}`);
    const crashAfter = 1 + Math.floor(draw() * undisturbed.commits);
    const crashed = await once(plan, seed + 10_000, crashAfter);
    const told = `seed ${seed}, crash after ${crashAfter}: ${JSON.stringify({ plan, ...crashed })}`;
    assert.equal(crashed.state, 'completed', told);
    if (crashed.attempts > 1) crashes++;
  }
  assert.ok(crashes > SEEDS / 2, `only ${crashes} crashed`);
});

function once(
  plan: readonly (readonly Act[])[],
  seed: number,
  crashAfter: number | undefined,
): Promise<WorkflowTested<unknown>> {
  const world = new VirtualWorld({ seed });
  const pause = (ms: number): Promise<void> => new Promise((go) => void world.timers.after(ms, go));
  const act = async (wf: WorkflowContext, own: string, what: Act): Promise<void> => {
    const give = async (): Promise<string> => {
      await pause(Math.floor(world.random() * 3) * 100);
      return own;
    };
    const right = (given: unknown): void => {
      if (given !== own) throw new Error(`${own} was given ${String(given)}`);
    };
    switch (what) {
      case 'step':
        right(await wf.step('shared', give));
        return;
      case 'quick':
        right(await wf.step('shared', () => own));
        return;
      case 'child':
        right(await wf.child(echo, own));
        return;
      case 'sleep':
        await wf.sleep(Math.floor(world.random() * 4) * 50);
        return;
      case 'race': {
        const given = await Promise.race([wf.step('shared', give), wf.sleep(100).then(() => own)]);
        right(given);
        return;
      }
      case 'fail': {
        const fail = async (): Promise<never> => {
          await pause(Math.floor(world.random() * 2) * 100);
          throw new Error(own);
        };
        right(await wf.step('shared', fail).catch((error: Error) => error.message));
        return;
      }
    }
  };
  const flow = workflow('flow', async (_, wf) => {
    const branch = async (acts: readonly Act[], b: number): Promise<string> => {
      const trail: string[] = [];
      for (const [i, what] of acts.entries()) {
        await act(wf, `${b}.${i}`, what);
        trail.push(`${b}.${i}`);
      }
      return trail.join();
    };
    return Promise.all(plan.map(branch));
  });
  const children = { echo: (input: unknown) => input };
  return testWorkflow(flow, null, { world, children, ...(crashAfter === undefined ? {} : { crashAfter }) });
}
