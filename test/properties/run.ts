import { healAndDrain } from './drain.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { type Gates, type Ground, Rig } from './rig.ts';
import type { Step } from './steps.ts';

export interface RunOptions {
  /** Compare the whole state after every so many steps; answers and the feed are compared after each. */
  readonly every: number;
  /** Whether all faults stop at the end and everything must finish. */
  readonly drain?: boolean;
}

/** Runs the steps on the engine and on the model; throws at the first disagreement. */
export async function runSteps(
  ground: Ground,
  steps: readonly Step[],
  gates: Gates,
  options: RunOptions,
): Promise<void> {
  const rig = await Rig.open(ground, gates);
  let at = 'the beginning';
  try {
    for (const [i, step] of steps.entries()) {
      at = `step ${i + 1}, ${step.do}`;
      rig.reader = step.n['by'] ?? 0;
      await (OPERATIONS[step.do] as Operation).run(rig, step.n);
      await rig.compareFeed();
      if ((i + 1) % options.every === 0 || i + 1 === steps.length) await rig.compareAll();
    }
    at = 'the end, when all faults have stopped';
    if (options.drain ?? true) {
      await healAndDrain(rig);
      await rig.compareFeed();
      await rig.compareAll();
    }
    if (rig.inFile) rig.requireIntegrity();
  } catch (error) {
    throw new Error(`At ${at}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    await rig.close();
  }
}
