import { SETTINGS_KINDS, type SettingsWord } from '../../core/settings/kinds.ts';
import { LIMITS } from './kinds/limits.ts';
import { POOLS } from './kinds/pools.ts';
import { QUEUES } from './kinds/queues.ts';
import { SCHEDULES } from './kinds/schedules.ts';
import { TAGS } from './kinds/tags.ts';
import { TRIGGERS } from './kinds/triggers.ts';
import { WORKERS } from './kinds/workers.ts';
import { WORKFLOWS } from './kinds/workflows.ts';
import type { SettingsKind } from './settings-kind.ts';

const KINDS: { readonly [W in SettingsWord]: SettingsKind } = {
  tags: TAGS,
  limits: LIMITS,
  queues: QUEUES,
  workers: WORKERS,
  pools: POOLS,
  workflows: WORKFLOWS,
  schedules: SCHEDULES,
  triggers: TRIGGERS,
};

/** In the order in which they are made. */
export const ALL_KINDS: readonly SettingsKind[] = SETTINGS_KINDS.map((word) => KINDS[word]);

export const kindOf = (word: SettingsWord): SettingsKind => KINDS[word];
