/** What a loop has changed in its repository, and the decisions about it. */

import { client } from '../../../api.ts';
import { type Changes, changesIn } from '../../../model/changes/diff.ts';
import { type ReviewState, reviewIn } from '../../../model/changes/review.ts';

/** How the branch of the run stands. Its names are those of loopd. */
export async function readReview(id: string, signal: AbortSignal): Promise<ReviewState> {
  return reviewIn((await client.call('getLoop', { params: { id }, signal })).run);
}

export async function readChanges(id: string, signal: AbortSignal): Promise<Changes> {
  const changes = changesIn(await client.call('diffLoop', { params: { id }, signal }));
  if (changes === undefined) throw new Error('The node has answered with something that is no diff.');
  return changes;
}

/** The commit of the target that has all of the run. `head`: what was looked at; a branch that has moved since is not merged. */
export async function mergeChanges(id: string, head: string | undefined): Promise<string> {
  const query = head === undefined || head === '' ? {} : { head_ref: head };
  return (await client.call('mergeLoop', { params: { id }, query })).commit;
}

export async function scrapChanges(id: string): Promise<void> {
  await client.call('scrapLoop', { params: { id } });
}
