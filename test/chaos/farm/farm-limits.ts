import { openNode } from '../../../src/app/node.ts';
import type { LimitInput, LimitUseInput } from '../../../src/core/limits/limit.ts';
import { numberOf } from './farm-kinds.ts';

/** What the scheduled tasks of the farm stand behind; nobody changes it during a run. */
export const LIMITS = {
  three: { concurrent: 3, perKey: 2 },
  kin: { concurrent: 2 },
  slow: { rate: { max: 3, window: 1000, burst: 1 } },
  shut: { concurrent: 0 },
} as const satisfies Readonly<Record<string, LimitInput>>;

const KEYS = ['ann', 'bob', 'cyd'];

/** What a task takes; its key says whose it is. */
export function usesOf(kind: string, key: string): readonly LimitUseInput[] {
  if (kind === 'limited' || kind === 'hasty') return [{ name: 'three', key: KEYS[numberOf(key) % 3] as string }];
  if (kind === 'family' || kind === 'offspring') return [{ name: 'kin' }];
  if (kind === 'rated') return [{ name: 'slow' }];
  return kind === 'stood-up' ? [{ name: 'shut' }] : [];
}

export async function setLimits(url: string): Promise<void> {
  const store = await openNode(url, { duties: false });
  for (const [name, limit] of Object.entries(LIMITS)) await store.engine.limits.set(name, limit, 'the farm');
  await store.close();
}
