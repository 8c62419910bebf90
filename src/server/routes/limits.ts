import { parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import type { LimitEdit } from '../desk.ts';
import type { Handlers } from '../route-handler.ts';

export const limitRoutes: Handlers<
  'listLimits' | 'createLimit' | 'getLimit' | 'editLimit' | 'removeLimit' | 'pauseLimit' | 'resumeLimit'
> = {
  async listLimits({ desk }) {
    return { limits: await desk().limits.list() };
  },

  createLimit({ body: { name, ...edit }, desk, by }) {
    return desk().limits.change(name, oneWord(edit), by, 'new');
  },

  getLimit: ({ params, desk }) => desk().limits.detail(params.name),

  editLimit: ({ params, body, desk, by }) => desk().limits.change(params.name, oneWord(body), by, 'there'),

  removeLimit: ({ params, desk, by }) => desk().limits.remove(params.name, by),

  pauseLimit: ({ params, body, desk }) => desk().limits.pause(params.name, body.key, parseDuration(body.for, 'for')),

  resumeLimit: ({ params, body, desk }) => desk().limits.pause(params.name, body.key, 0),
};

/** Document 004 says `limit` where we say `concurrent`. */
function oneWord({ limit, ...edit }: LimitEdit): LimitEdit {
  if (limit === undefined) return edit;
  if (edit.concurrent !== undefined) {
    throw fault('INVALID_INPUT', { field: 'limit', problem: 'it is another word for concurrent; give one of them' });
  }
  return { ...edit, concurrent: limit };
}
