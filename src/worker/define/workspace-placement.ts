import { createHash } from 'node:crypto';
import { fault } from '../../core/errors.ts';
import { MAX_KEY_LENGTH } from '../../core/names.ts';
import type { PlacementInput } from '../../core/placement/placement.ts';
import { readWorkspaceSpec } from '../../core/workspace/spec.ts';
import { affinityOf, tagsFor } from '../../core/workspace/worker-tag.ts';
import { specOf, type WorkspaceWish } from '../workspace/handler-workspace.ts';

/** What a task needs of a worker so that its workspace can be made there, beside its own placement. Its own affinity goes first. */
export function placedForWorkspace(
  handler: string,
  wish: WorkspaceWish<never>,
  input: unknown,
  placement: PlacementInput | undefined,
): PlacementInput | undefined {
  const given = specOf(wish, input);
  if (given === undefined) return placement;
  const read = readWorkspaceSpec(given);
  if (!('spec' in read))
    throw fault('INVALID_INPUT', { field: `workspace of ${handler}`, problem: read.problems.join('; ') });
  const { spec } = read;
  const affinity = placement?.affinity ?? keyOf(affinityOf(spec));
  return {
    ...placement,
    requires: [...new Set([...(placement?.requires ?? []), ...tagsFor(spec)])],
    ...(affinity === undefined ? {} : { affinity }),
  };
}

/** Addresses may be longer than keys. */
function keyOf(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= MAX_KEY_LENGTH) return text;
  return `workspace-${createHash('sha256').update(text).digest('hex')}`;
}
