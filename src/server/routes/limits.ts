import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import type { LimitEdit } from '../../core/limit-edit.ts';
import type { Handlers } from '../route-handler.ts';

export const limitRoutes: Handlers<
  'listLimits' | 'createLimit' | 'getLimit' | 'editLimit' | 'removeLimit' | 'pauseLimit' | 'resumeLimit'
> = {
  async listLimits({ desk }) {
    return { limits: await desk().limits.list() };
  },

  async createLimit({ body: { name, ...edit }, desk, by }) {
    return (await desk().limits.set(name, oneWord(edit), by, { must: 'new' })).limit;
  },

  getLimit: ({ params, desk }) => desk().limits.detail(params.name),

  async editLimit({ params, body: { ifRevision, ...edit }, desk, by }) {
    const terms = { must: 'there', ifRevision } as const;
    const { limit, before, changed } = await desk().limits.set(params.name, oneWord(edit), by, terms);
    return { ...limit, ...(changed && { before }) };
  },

  removeLimit: ({ params, desk, by }) => desk().limits.remove(params.name, by),

  pauseLimit: ({ params, body, desk }) => desk().limits.pause(params.name, body.key, parseDuration(body.for, 'for')),

  resumeLimit: ({ params, body, desk }) => desk().limits.pause(params.name, body.key, 0),
};

/** Document 004 says `limit` where we say `concurrent`. */
function oneWord({ limit, ...edit }: LimitEdit & { readonly limit?: number | null | undefined }): LimitEdit {
  if (limit === undefined) return edit;
  if (edit.concurrent !== undefined) {
    throw fault('INVALID_INPUT', { field: 'limit', problem: 'it is another word for concurrent; give one of them' });
  }
  return { ...edit, concurrent: limit };
}
