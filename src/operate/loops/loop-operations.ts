import type { AnswerOf } from '../../protocol/routes.ts';
import type { Operations } from '../operations/operation.ts';
import { diffLoop, mergeLoop, scrapLoop } from './loop-review.ts';

/** What is asked of the branch of a loop. A worker with the repository does it, on a node as on a store that workers serve. */
export const loopOperations = {
  diffLoop: async (snapshot, { params: { id }, signal }) =>
    (await diffLoop(snapshot, id, { signal })) as AnswerOf<'diffLoop'>,

  mergeLoop: async (snapshot, { params: { id }, query, signal }) => ({
    commit: await mergeLoop(snapshot, id, { signal, head: query?.head_ref }),
  }),

  async scrapLoop(snapshot, { params: { id }, signal }) {
    await scrapLoop(snapshot, id, { signal });
    return null;
  },
} satisfies Operations;
