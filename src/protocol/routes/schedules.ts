import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { digits, Time } from '../shapes/common.ts';
import { Schedule, ScheduleDetail, ScheduleInput, ScheduleTimesInput } from '../shapes/schedule.ts';
import { API, oneSchedule } from './address.ts';

/** Schedules: tasks that are pushed by a clock. */
export const SCHEDULE_ROUTES = {
  listSchedules: route({
    method: 'GET',
    path: `${API}/schedules`,
    access: 'read',
    does: 'Schedules by name, with the next fire time and what became of the last one',
    answer: z.object({ schedules: z.array(Schedule).readonly() }),
  }),
  putSchedule: route({
    method: 'POST',
    path: `${API}/schedules`,
    access: 'operator',
    does: 'Makes a schedule or replaces the one of its name. One with the same times keeps its place',
    body: ScheduleInput,
    answer: Schedule,
  }),
  previewSchedule: route({
    method: 'GET',
    path: `${API}/schedule-times`,
    access: 'read',
    does: 'The next fire times that a schedule with these times would have; stores nothing',
    query: ScheduleTimesInput.extend({
      next: digits(z.number().min(1).max(100)).optional().describe('How many fire times; default 5'),
    }),
    answer: z.object({ next: z.array(Time).readonly() }),
  }),
  getSchedule: route({
    method: 'GET',
    path: `${API}/schedules/{name}`,
    access: 'read',
    does: 'A schedule with its next fire times and its history',
    params: oneSchedule,
    query: z.strictObject({
      next: digits(z.number().min(1).max(100)).optional().describe('How many fire times; default 5'),
    }),
    answer: ScheduleDetail,
  }),
  removeSchedule: route({
    method: 'DELETE',
    path: `${API}/schedules/{name}`,
    access: 'operator',
    does: 'Removes a schedule with its history; its tasks stay',
    params: oneSchedule,
    answer: Schedule,
  }),
  pauseSchedule: route({
    method: 'POST',
    path: `${API}/schedules/{name}/pause`,
    access: 'operator',
    does: 'Pauses a schedule: it fires nothing, and misses nothing',
    params: oneSchedule,
    answer: Schedule,
  }),
  resumeSchedule: route({
    method: 'POST',
    path: `${API}/schedules/{name}/resume`,
    access: 'operator',
    does: 'Goes on with the first fire time from now on',
    params: oneSchedule,
    answer: Schedule,
  }),
  runSchedule: route({
    method: 'POST',
    path: `${API}/schedules/{name}/run`,
    access: 'operator',
    does: 'Pushes the task of a schedule now; its fire times stay as they are',
    params: oneSchedule,
    answer: z.object({ id: z.string().describe('The id of the task') }),
    status: 201,
  }),
} as const satisfies Record<string, Route>;
