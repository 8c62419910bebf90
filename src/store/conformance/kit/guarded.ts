import { type LimitInput, normalizeLimit, normalizeUses } from '../../../core/limits/limit.ts';
import type { Lane, NewTask } from '../../store.ts';
import type { Scene } from './scene.ts';

/** A task that takes from a limit of its own, which judges it when it is pushed. */
export async function guarded(scene: Scene, limit: LimitInput, wish: Partial<NewTask> = {}): Promise<NewTask> {
  await scene.store.limitPut({ name: 'guard', limit: normalizeLimit(limit), by: 'me' });
  const lane = { queue: 'mail', handler: 'send', limits: normalizeUses(['guard']) };
  const [{ id }] = (await scene.store.laneIntern({ lanes: [lane] })) as readonly [Lane];
  return scene.draft({ ...wish, lane: id });
}
