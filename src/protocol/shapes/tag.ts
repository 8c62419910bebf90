import { z } from 'zod';
import { word } from './common.ts';

const users = z
  .array(z.object({ kind: word<'pool' | 'schedule' | 'trigger' | 'workflow'>(), name: z.string() }))
  .readonly();

export const Tag = z
  .object({
    tag: z.string(),
    workers: z.number(),
    names: z.array(z.string()).readonly().describe('The workers that carry it now'),
    wantedBy: z.array(z.string()).readonly().describe('Queues with ready tasks that require it'),
    made: z.boolean().describe('It was made by name, and is listed also while nothing names it'),
    givenTo: z.array(z.string()).readonly().describe('Names of workers whose settings give it, alive or not'),
    usedBy: users.describe('Definitions whose tasks require it, and pools whose workers carry it'),
    missing: z.boolean().describe('Ready tasks or definitions require it, and no enabled worker has it'),
  })
  .meta({ id: 'Tag' });

export const TagInput = z.strictObject({
  name: z.string().max(200).describe('gpu, or with a value gpu=nvidia'),
});

const changed = z.array(z.string()).readonly().describe('Names of workers whose settings were changed');
const still = z
  .object({
    queues: z.array(z.string()).readonly().describe('Queues with ready tasks that require it'),
    workers: z.array(z.string()).readonly().describe('Workers that bring it themselves'),
    definitions: users,
  })
  .describe('What still names the old tag');

export const RenamedTag = Tag.extend({ changed, still }).meta({ id: 'RenamedTag' });

export const RemovedTag = z.object({ tag: z.string(), removed: z.literal(true), changed, still });
