import type { Problems } from '../machine/problems.ts';

/** While a workflow is read. */
export interface NodeReading {
  readonly problems: Problems;
  /** The limits that there are. */
  readonly groups: ReadonlySet<string> | undefined;
}
