import { z } from 'zod';
import { Json, Time } from './common.ts';

export const SignalInput = z.strictObject({
  channel: z.string(),
  body: Json.optional(),
  broadcast: z.boolean().default(false).describe('To all who wait, and kept for nobody'),
});

export const Signal = z
  .object({
    channel: z.string(),
    woken: z.array(z.string()).readonly(),
    kept: z.boolean().describe('Nobody waited; the next one who does gets it'),
  })
  .meta({ id: 'Signal' });

export const Approval = z
  .object({
    id: z.string().describe('Of the task that waits'),
    key: z.string().describe('Names the wait among those of the task'),
    queue: z.string(),
    handler: z.string(),
    title: z.string(),
    form: Json.optional().describe('What whoever decides may fill in'),
    context: Json.optional().describe('What they should know'),
    actions: z.array(z.string()).readonly(),
    since: Time,
    deadline: Time.optional(),
  })
  .meta({ id: 'Approval' });

export const DecisionInput = z.strictObject({
  action: z.string().describe('One of those that the request offers'),
  value: Json.optional().describe('What the form asked for'),
});

export const Decision = z.object({
  id: z.string(),
  action: z.string(),
  value: Json.optional(),
  by: z.string().optional(),
});
