/** The part of the port for tags that were made by name. A tag that only a worker or a task names has no row here. */
export interface TagStore {
  /** Makes a tag. False: there was one of that name, which stays as it is. */
  tagAdd(params: { readonly name: string; readonly by: string }): Promise<boolean>;
  /** By name. */
  tagList(): Promise<readonly TagRecord[]>;
  /**
   * Gives a tag another name, and puts that in its place in the settings of all workers that have it, and where it chooses who holds a
   * credential, all or nothing: nobody gets a credential by it, and nobody loses one. What workers bring themselves and what tasks require
   * stays. Refused (`taken`) where the new name is a tag already, or chooses for a credential: two would become one.
   */
  tagRename(params: { readonly from: string; readonly to: string; readonly by: string }): Promise<TagChanged>;
  /** Removes a tag. Refused (`used`) while settings of workers have it, unless `force` takes it from them, all or nothing, and with it the credentials that they held by it. */
  tagRemove(params: { readonly name: string; readonly force: boolean }): Promise<TagChanged>;
}

export interface TagRecord {
  readonly name: string;
  readonly at: number;
  readonly by: string;
}

/** `none`: there is no such tag. `workers`: whose settings have it, or had it before. */
export interface TagChanged {
  readonly kind: 'done' | 'none' | 'taken' | 'used';
  readonly workers: readonly string[];
}
