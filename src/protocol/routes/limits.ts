import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { Limit, LimitDetail, LimitEdit, LimitEdited, LimitInput, LimitPause, LimitResume } from '../shapes/limit.ts';
import { API, oneLimit } from './address.ts';

/** Limits: definitions, edits, pauses. */
export const LIMIT_ROUTES = {
  listLimits: route({
    method: 'GET',
    path: `${API}/limits`,
    access: 'read',
    does: 'Limits, with what is in use',
    answer: z.object({ limits: z.array(Limit).readonly() }),
  }),
  createLimit: route({
    method: 'POST',
    path: `${API}/limits`,
    access: 'operator',
    does: 'Makes a limit; refused if there is one of that name',
    body: LimitInput,
    answer: Limit,
    status: 201,
  }),
  getLimit: route({
    method: 'GET',
    path: `${API}/limits/{name}`,
    access: 'read',
    does: 'A limit with its keys and its history',
    params: oneLimit,
    answer: LimitDetail,
  }),
  editLimit: route({
    method: 'PATCH',
    path: `${API}/limits/{name}`,
    access: 'operator',
    does: 'Changes a limit while everything runs; lowering drains',
    params: oneLimit,
    body: LimitEdit,
    answer: LimitEdited,
  }),
  removeLimit: route({
    method: 'DELETE',
    path: `${API}/limits/{name}`,
    access: 'operator',
    does: 'Removes a limit: it holds nothing back any more',
    params: oneLimit,
    answer: Limit,
  }),
  pauseLimit: route({
    method: 'POST',
    path: `${API}/limits/{name}/pause`,
    access: 'operator',
    does: 'Pauses a limit, or one key of it: nothing that uses it starts for so long',
    params: oneLimit,
    body: LimitPause,
    answer: LimitDetail,
  }),
  resumeLimit: route({
    method: 'POST',
    path: `${API}/limits/{name}/resume`,
    access: 'operator',
    does: 'Ends the pause of a limit, or of one key of it, before its time',
    params: oneLimit,
    body: LimitResume,
    answer: LimitDetail,
  }),
} as const satisfies Record<string, Route>;
