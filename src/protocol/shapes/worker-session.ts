import { z } from 'zod';

/** Requests of our own worker over plain HTTP, in the words of the WebSocket: see frames.ts. */

export const Joined = z.object({
  worker: z.string().describe('Its id in addresses'),
  session: z.string().describe('Goes with later calls as x-session-token'),
  leaseMs: z.number(),
  can: z.array(z.string()).readonly().optional().describe('What the node can be asked'),
  leftOut: z
    .array(z.string())
    .readonly()
    .optional()
    .describe('Handlers that it offers and that its name was not granted'),
  signer: z.string().optional().describe('The key by which the cluster signs credentials'),
});

export const AskInput = z.object({
  asked: z
    .array(z.looseObject({ type: z.string().max(100), n: z.number().int().min(1) }))
    .min(1)
    .max(500)
    .describe('Requests as over the WebSocket, except claims'),
});

export const Answers = z.object({
  answers: z
    .array(
      z.union([
        z.object({ type: z.literal('ok'), re: z.number(), value: z.unknown().optional() }),
        z.object({ type: z.literal('refused'), re: z.number(), error: z.looseObject({ code: z.string() }) }),
      ]),
    )
    .readonly()
    .describe('Each names its request; a request without an answer was not handled, and may be sent again'),
});
