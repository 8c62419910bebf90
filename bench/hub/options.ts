/** What a run of the hub suite was asked for. */
export interface HubOptions {
  readonly workers: number;
  /** Where profiles of the node go. */
  readonly profile: string | undefined;
}
