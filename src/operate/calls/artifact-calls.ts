import type { Caller } from '../operator.ts';
import type { ArtifactView } from '../views.ts';

export interface ArtifactFilter {
  /** Only those of this task, by its id. */
  readonly task?: string | undefined;
  /** Only those of the tasks of this run, by its id or name. */
  readonly run?: string | undefined;
  readonly name?: string | undefined;
}

const PAGE = 500;

/** The newest first, at most so many. */
export async function listArtifacts(
  caller: Caller,
  filter: ArtifactFilter,
  most: number,
): Promise<readonly ArtifactView[]> {
  const found: ArtifactView[] = [];
  for (let cursor: string | undefined; found.length < most; ) {
    const query = { ...filter, limit: Math.min(PAGE, most - found.length), cursor };
    const page = await caller.call('listArtifacts', { query });
    found.push(...page.artifacts);
    ({ cursor } = page);
    if (cursor === undefined) break;
  }
  return found;
}
