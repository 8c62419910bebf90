import { z } from 'zod';
import { STRATEGIES, type Strategy } from '../../core/limits/limit.ts';
import { Duration, Time, word } from './common.ts';

const RateEdit = z
  .strictObject({
    max: z.number().optional(),
    window: Duration.optional(),
    burst: z.number().optional(),
    perKey: z.boolean().optional(),
  })
  .describe('What is not given stays; a new one needs max and window');

const Edit = z.strictObject({
  concurrent: z.number().nullable().optional(),
  limit: z.number().nullable().optional(),
  perKey: z.number().nullable().optional(),
  rate: RateEdit.nullable().optional(),
  cost: RateEdit.nullable().optional(),
  strategy: z.enum(STRATEGIES).optional(),
  backlog: z.number().nullable().optional(),
});

/** Null takes a bound away; what is not given stays. `limit` is another word for `concurrent`. */
export const LimitEdit = Edit.extend({
  ifRevision: z.number().optional().describe('The revision that was read: 409 if it has changed since'),
}).meta({ id: 'LimitEdit' });

export const LimitInput = Edit.extend({ name: z.string() });

const Rate = z.object({ max: z.number(), window: z.string(), burst: z.number(), perKey: z.boolean() });

const Bounds = z.object({
  concurrent: z.number().optional(),
  perKey: z.number().optional(),
  rate: Rate.optional(),
  cost: Rate.optional(),
  strategy: word<Strategy>(),
  backlog: z.number().optional(),
});

export const Limit = Bounds.extend({
  name: z.string(),
  active: z.number().describe('What running tasks use of it'),
  waiting: z.number().describe('Ready tasks that use it'),
  revision: z.number(),
  changedAt: Time,
  changedBy: z.string(),
}).meta({ id: 'Limit' });

export const LimitEdited = Limit.extend({
  before: Limit.optional().describe('The limit before, if something was changed'),
});

const Use = z.object({
  used: z.number(),
  cap: z.number().optional(),
  pausedUntil: Time.optional(),
  freesAt: Time.optional(),
});

export const LimitDetail = Limit.extend(Use.shape)
  .extend({
    keys: z.array(Use.extend({ key: z.string() })).readonly(),
    moreKeys: z.boolean(),
    history: z
      .array(
        z.object({
          at: Time,
          by: z.string(),
          limit: Bounds.optional(),
          paused: z
            .object({ key: z.string(), forMs: z.number() })
            .optional()
            .describe('A task asked to come back later, and others wait with it'),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'LimitDetail' });

export const LimitPause = z.strictObject({
  key: z.string().optional(),
  for: Duration.describe('0 resumes it'),
});

export const LimitResume = z.strictObject({ key: z.string().optional() });
