/** What a loop has changed in its repository, and the decisions about it. */

import { errorOfAnswer } from '../../../../../src/client/problem.ts';
import { client, ownFetch } from '../../../api.ts';
import { type Changes, changesIn } from '../../../model/changes/diff.ts';
import { type ReviewState, reviewIn } from '../../../model/changes/review.ts';

/** How the branch of the run stands. Its names are those of loopd. */
export async function readReview(id: string, signal: AbortSignal): Promise<ReviewState> {
  return reviewIn((await client.call('getLoop', { params: { id }, signal })).run);
}

export async function readChanges(id: string, signal: AbortSignal): Promise<Changes> {
  const changes = changesIn(await ask(id, 'diff', { signal }));
  if (changes === undefined) throw new Error('The node has answered with something that is no diff.');
  return changes;
}

export async function decide(id: string, action: 'merge' | 'scrap'): Promise<{ readonly commit: string | undefined }> {
  const answer = (await ask(id, action, { method: 'POST' })) as { readonly commit?: unknown } | null;
  return { commit: typeof answer?.commit === 'string' ? answer.commit : undefined };
}

async function ask(id: string, what: string, init: RequestInit): Promise<unknown> {
  const url = `/runs/${encodeURIComponent(id)}/${what}`;
  const response = await ownFetch(url, init);
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOfAnswer(answer, response.status, url);
  return answer;
}
