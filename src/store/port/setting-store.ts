import type { NameTaker } from '../../core/placement/name-hold.ts';
import type { WorkerGrant } from '../../core/placement/worker-grant.ts';

/** The part of the port for settings of workers by name. They outlive the processes. */
export interface SettingStore {
  /**
   * Changes the setting of a worker's name, for all live workers of that name and all later ones. Concurrent changes of
   * different fields do not undo each other.
   */
  workerSet(params: WorkerSetting): Promise<void>;
  workerSettings(): Promise<readonly WorkerSettingRecord[]>;
  /**
   * Removes the setting of a worker's name and ends its secrets and codes, all or nothing. Live workers of the name
   * keep what they have: they are not disabled, only their revision grows. The next one that registers begins without a
   * setting.
   */
  workerForget(params: { readonly name: string }): Promise<Forgotten>;
  /** Who has these names, in order; undefined: nobody. */
  nameHolders(params: { readonly names: readonly string[] }): Promise<readonly (NameHolder | undefined)[]>;
  /** The name is free, unless somebody else has it, or the same one at another process. */
  nameLeave(params: NameHolder & { readonly name: string }): Promise<void>;
}

export type NameHolder = Pick<NameTaker, 'holder' | 'process'>;

/** Fields that are not given stay as they are. */
export interface WorkerSetting {
  readonly name: string;
  readonly enabled?: boolean | undefined;
  /** Replaces the worker's own priority; null restores it. */
  readonly priority?: number | null | undefined;
  /** Tags besides the worker's own. They replace all given before. */
  readonly tags?: readonly string[] | undefined;
  /** Adds tags to those that there are. */
  readonly addTags?: readonly string[] | undefined;
  /** Removes tags. A tag that is in both is removed. */
  readonly removeTags?: readonly string[] | undefined;
  /** What is granted to the name. A field that is null sets no bound any more: with null for its handlers it may run any. */
  readonly grant?: GrantChange | undefined;
}

export type GrantChange = { readonly [K in keyof Omit<WorkerGrant, 'anyHandler'>]?: WorkerGrant[K] | null } & {
  /** Granted unless its handlers were decided before. It is part of the write, so that no join undoes what an operator grants meanwhile. */
  readonly firstHandlers?: readonly string[] | undefined;
};

export interface WorkerSettingRecord {
  readonly name: string;
  readonly enabled: boolean;
  readonly priority: number | undefined;
  readonly tags: readonly string[];
  readonly grant: WorkerGrant;
}

export interface Forgotten {
  /** Whether there was a setting. */
  readonly setting: boolean;
  /** How many tokens were live. */
  readonly tokens: number;
}
