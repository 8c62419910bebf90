import { claim } from './claiming.ts';
import { stop, tick } from './duties.ts';
import { isFinal, type ModelTask, must } from './model-parts.ts';
import type { Rig } from './rig.ts';
import { held } from './speaking.ts';

/** When all faults stop, everything that was ever taken in ends: what hung is reaped, what waits comes due, all is run. */
export async function healAndDrain(rig: Rig): Promise<void> {
  const { model } = rig;
  const [worker] = rig.workers as [number];
  for (const [name, queue] of model.queues) {
    if (queue.paused === undefined) continue;
    await rig.engine(0).resume(name);
    model.resume(name);
  }
  await rig.store(0).workerSet({ name: rig.nameOf(worker), enabled: true });
  (model.workers.get(worker) as { enabled: boolean }).enabled = true;
  await rig.advance(45 * 86_400_000);
  await stop(rig, 0);
  await stop(rig, 1);
  for (let i = 0; i < 9 && held(rig).length > 0; i++) {
    // After a holder that vanished it waits one lease; this is often enough to keep the term meanwhile.
    if (i > 0) await rig.advance(4_500);
    await tick(rig, 0, 'reaper');
  }
  for (let round = 0; round < 30 && unfinished(rig) > 0; round++) {
    await tick(rig, 0, 'stager');
    const grants = await claim(rig, 0, { worker, max: 50, leaseMs: 60_000 });
    await Promise.all(
      grants.map(async (lease) => {
        await rig.engine(0).complete(lease, 'drained');
        model.end(model.held(lease) as ModelTask, 'completed', 'none', '"drained"');
      }),
    );
    if (grants.length === 0) await rig.advance(3_600_000);
  }
  const left = [...model.tasks.values()].filter(({ state }) => !isFinal(state));
  must(left.length === 0, `task ${left[0]?.id} is ${left[0]?.state} and never ends`);
}

function unfinished(rig: Rig): number {
  let count = 0;
  for (const { state } of rig.model.tasks.values()) if (!isFinal(state)) count++;
  return count;
}
