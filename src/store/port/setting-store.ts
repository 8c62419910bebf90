/** The part of the port for what is said of workers by their names: it outlives their processes. */
export interface SettingStore {
  /**
   * What is said of a worker by its name: holds at once for those that live, and for all that come. Of several changes at a time none undoes
   * what another one says of something else.
   */
  workerSet(params: WorkerSetting): Promise<void>;
  workerSettings(): Promise<readonly WorkerSettingRecord[]>;
  /**
   * Forgets what was said of a worker's name and ends its secrets and codes, all or nothing. Workers that live under the name
   * keep what they have: they are not switched off, only their revision grows. The next one that registers begins with nothing.
   */
  workerForget(params: { readonly name: string }): Promise<Forgotten>;
}

/** What is not given stays as it was. */
export interface WorkerSetting {
  readonly name: string;
  readonly enabled?: boolean | undefined;
  /** Instead of the worker's own; null gives it back its own. */
  readonly priority?: number | null | undefined;
  /** Tags besides those that the worker brings: all of them, in the place of those that there were. */
  readonly tags?: readonly string[] | undefined;
  /** Some more of them, whatever others there are by then. */
  readonly addTags?: readonly string[] | undefined;
  /** Some of them no longer; what is in both is taken away. */
  readonly removeTags?: readonly string[] | undefined;
}

export interface WorkerSettingRecord {
  readonly name: string;
  readonly enabled: boolean;
  readonly priority: number | undefined;
  readonly tags: readonly string[];
}

export interface Forgotten {
  /** Whether something was said of the name. */
  readonly setting: boolean;
  /** How many tokens were live. */
  readonly tokens: number;
}
