import { z } from 'zod';

/** The form of every error. */
export const Problem = z
  .strictObject({
    error: z.strictObject({
      code: z.string().describe('Stable: programs go by it'),
      message: z.string(),
      hint: z.string().optional().describe('What to do next'),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
  })
  .meta({ id: 'Problem' });

/** The form of errors of routes that clients of loopd call: they read `error`. */
export const PlainProblem = z
  .strictObject({
    error: z.string(),
    code: z.string().describe('Ours, and stable: programs go by it'),
  })
  .meta({ id: 'PlainProblem' });
