import { z } from 'zod';
import { Json, Time } from './common.ts';

export const SignalInput = z.strictObject({
  channel: z.string(),
  body: Json.optional(),
  broadcast: z.boolean().default(false).describe('Wakes all waiting tasks, and is kept for nobody'),
});

export const Signal = z
  .object({
    channel: z.string(),
    woken: z.array(z.string()).readonly(),
    kept: z.boolean().describe('No task waited; the next one that does gets it'),
  })
  .meta({ id: 'Signal' });

export const Approval = z
  .object({
    id: z.string().describe('Of the task that waits'),
    key: z.string().describe('Names the wait among those of the task'),
    queue: z.string(),
    handler: z.string(),
    title: z.string(),
    form: Json.optional().describe('A form for the decision'),
    context: Json.optional().describe('What the person who decides should know'),
    actions: z.array(z.string()).readonly(),
    since: Time,
    deadline: Time.optional(),
  })
  .meta({ id: 'Approval' });

export const DecisionInput = z.strictObject({
  action: z.string().describe('One of those that the request offers'),
  value: Json.optional().describe('What the form asked for'),
  key: z.string().optional().describe('Which of several approvals of the task; without it the first'),
});

export const Decision = z.object({
  id: z.string(),
  action: z.string(),
  value: Json.optional(),
  by: z.string().optional(),
});
