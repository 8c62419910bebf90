import { z } from 'zod';
import type { PoolReason } from '../../core/pools/decide.ts';
import { MOST_QUEUES, MOST_WORKERS } from '../../core/pools/pool.ts';
import type { TicketState } from '../../core/pools/ticket.ts';
import { Duration, digits, Paging, Time, word } from './common.ts';

const count = (least: number, most: number, what: string) =>
  z.number().int().min(least).max(most).optional().describe(what);

const PolicyInput = z.strictObject({
  min: count(0, MOST_WORKERS, 'The least number of workers; default 0'),
  max: count(0, MOST_WORKERS, 'The most that are there or on their way, whoever checks; default 10'),
  tasksPerWorker: count(1, 1_000_000, 'How many tasks one worker is there for; default 1'),
  scaleUpThreshold: count(0, 1_000_000, 'So many tasks must wait before a worker is started beside others; default 1'),
  targetWaitMs: Duration.optional().describe('A task that has waited for longer counts for a worker of its own'),
  idleMs: Duration.optional().describe('A worker without a task for so long may be sent home; default 1m'),
  cooldownUpMs: Duration.optional().describe('So long after workers were started no others are; default 0'),
  cooldownDownMs: Duration.optional().describe('So long after a change no worker is sent home; default 0'),
  burst: count(1, MOST_WORKERS, 'The most workers that one check starts; default 100'),
  startMs: Duration.optional().describe(
    'A worker that has not come so long after its start is not expected any more; default 1m',
  ),
});

const LauncherSetting = z
  .object({ kind: z.string().max(63) })
  .catchall(z.unknown())
  .describe('How workers are started: the kind, and its settings; default {"kind": "subprocess"}');

export const PoolInput = z
  .strictObject({
    name: z.string(),
    queues: z.array(z.string()).min(1).max(MOST_QUEUES).optional().describe('Default: the queue of its name'),
    enabled: z
      .boolean()
      .optional()
      .describe('A pool that is off starts nobody, and sends home who is idle; default true'),
    policy: PolicyInput.optional(),
    worker: z
      .strictObject({
        life: z
          .enum(['once', 'stay'])
          .optional()
          .describe('once: takes one task and ends. stay: until it is sent home'),
        slots: z.number().int().min(1).max(1000).optional(),
        tags: z.array(z.string().max(200)).max(100).optional(),
      })
      .optional(),
    launcher: LauncherSetting.optional(),
    ifRevision: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('The revision that was read, 0 for none: 409 if it has changed since'),
  })
  .meta({ id: 'PoolInput' });

export const Pool = z
  .object({
    name: z.string(),
    queues: z.array(z.string()).readonly(),
    enabled: z.boolean(),
    policy: z.object({
      min: z.number(),
      max: z.number(),
      tasksPerWorker: z.number(),
      scaleUpThreshold: z.number(),
      targetWaitMs: z.number().optional(),
      idleMs: z.number(),
      cooldownUpMs: z.number(),
      cooldownDownMs: z.number(),
      burst: z.number(),
      startMs: z.number(),
    }),
    worker: z.object({
      life: word<'once' | 'stay'>(),
      slots: z.number(),
      tags: z.array(z.string()).readonly(),
    }),
    launcher: LauncherSetting,
    revision: z.number(),
    createdAt: Time,
    changedAt: Time,
    changedBy: z.string(),
  })
  .meta({ id: 'Pool' });

const figures = {
  want: z.number().describe('Workers that the work asks for, between the least and the most'),
  there: z.number().describe('Workers that are there or on their way'),
  launch: z.number().describe('How many to start'),
  drain: z.number().describe('How many to send home'),
  reasons: z.array(word<PoolReason>()).readonly(),
  runnable: z.number(),
  blocked: z.number().describe('Tasks that limits hold: nobody is started for them'),
  oldestAgeMs: z.number(),
  starting: z.number(),
  busy: z.number(),
  idle: z.number(),
  leaving: z.number().describe('Sent home, and not gone yet'),
};

export const PoolDetail = Pool.extend({
  now: z.object(figures).describe('What a check would find and do now'),
  failures: z.number().describe('How many starts have come to nothing since a worker has come'),
  againMs: z.number().optional().describe('After so long time alone may change what a check would do'),
  problem: z
    .object({
      ticket: z.string(),
      state: word<TicketState>().describe('open: its launcher has not answered for 20 seconds'),
      at: Time,
      started: z.string().optional().describe('What the launcher says that it has started'),
      error: z.string().optional(),
    })
    .optional()
    .describe('The newest start that has come to nothing, if no worker has come by a later one'),
}).meta({ id: 'PoolDetail' });

export const PoolCheckInput = z.strictObject({
  dryRun: z.boolean().default(false).describe('Only say what would be done'),
  policy: PolicyInput.optional().describe(
    'Of a dry run: in place of the policy that the pool has. What is not given has its default',
  ),
});

export const PoolChecked = z
  .object({
    ...figures,
    pool: z.string(),
    dryRun: z.boolean(),
    launched: z.number().describe('Starts that were reserved: another check may have been faster'),
    drained: z.number(),
    launches: z
      .array(
        z.object({
          ticket: z.string(),
          outcome: word<'started' | 'failed' | 'unknown'>(),
          said: z.string().describe('What was started, or why nothing was'),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'PoolChecked' });

export const PoolDecision = z
  .object({ n: z.number(), at: Time, ...figures, launched: z.number(), drained: z.number() })
  .meta({ id: 'PoolDecision' });

export const PoolTicket = z
  .object({
    n: z.number(),
    id: z.string(),
    state: word<TicketState>(),
    at: Time,
    expiresAt: Time,
    endedAt: Time.optional().describe('When its worker came, or it was found that none will'),
    leftAt: Time.optional().describe('When its worker was last heard of, once that has gone'),
    started: z.string().optional().describe('What the launcher has started, as it calls it'),
    error: z.string().optional(),
    worker: z.string().optional().describe('The name of the worker that came with it'),
  })
  .meta({ id: 'PoolTicket' });

/** The newest first. */
export const PoolPaging = z.strictObject({
  limit: Paging.limit,
  before: digits(z.number().min(1)).optional().describe('Only those below this n'),
});
