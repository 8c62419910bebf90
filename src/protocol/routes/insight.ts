import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { digits, pathName, several, TaskState } from '../shapes/common.ts';
import { Failures, HandlerInfo, Histogram, Overview, SavedView, SavedViewInput } from '../shapes/overview.ts';
import { API } from './address.ts';

/** The figures and lists that the web UI shows, and its saved views. */
export const INSIGHT_ROUTES = {
  overview: route({
    method: 'GET',
    path: `${API}/overview`,
    access: 'read',
    does: 'The cluster at a glance: one sentence, what waits for what, the last hour',
    answer: Overview,
  }),
  countTasks: route({
    method: 'GET',
    path: `${API}/tasks-histogram`,
    access: 'read',
    does: 'How many tasks were created when, by state',
    query: z.strictObject({
      queue: several(z.string()),
      handler: several(z.string()),
      state: several(TaskState),
      from: digits(z.number()).optional().describe('Calendar time in milliseconds; default an hour before until'),
      until: digits(z.number()).optional().describe('Default now'),
      buckets: digits(z.number().min(1).max(500)).default(60),
    }),
    answer: Histogram,
  }),
  listFailures: route({
    method: 'GET',
    path: `${API}/failures`,
    access: 'read',
    does: 'Failed tasks by what their errors have in common',
    query: z.strictObject({ queue: several(z.string()) }),
    answer: Failures,
  }),
  listHandlers: route({
    method: 'GET',
    path: `${API}/handlers`,
    access: 'read',
    does: 'Handlers that workers offer, with the form of their input where that is known',
    answer: z.object({ handlers: z.array(HandlerInfo).readonly() }),
  }),
  listViews: route({
    method: 'GET',
    path: `${API}/views`,
    access: 'read',
    does: 'Saved views, by name',
    answer: z.object({ views: z.array(SavedView).readonly() }),
  }),
  saveView: route({
    method: 'POST',
    path: `${API}/views`,
    access: 'operator',
    does: 'Saves a view under its name, and replaces one of that name',
    body: SavedViewInput,
    answer: SavedView,
    status: 201,
  }),
  removeView: route({
    method: 'DELETE',
    path: `${API}/views/{name}`,
    access: 'operator',
    does: 'Removes a saved view',
    params: z.strictObject({ name: pathName('The name of a view') }),
    answer: z.object({}),
  }),
} as const satisfies Record<string, Route>;
