import { z } from 'zod';
import { digits, Json, Time, word } from './common.ts';

/** The shapes of runs of loopd, in its own words. */

const short = z.string().max(500);
const agent = z
  .union([z.string().min(1).max(200), z.record(z.string(), Json)])
  .describe('A function that the workers know, by its name, or an agent as machines have it');
/** What belongs to workspaces with version control. */
const notHere = z.string().max(500).nullable().optional().describe('Refused: a loop has a plain folder so far');

export const LoopStartInput = z.strictObject({
  workspace_root: short.min(1).describe('A root by its name, and a folder below it: main/project'),
  spec_path: short.optional().describe('A file of the workspace that says what is to be built'),
  plan_path: short.nullable().optional().describe('A file of the workspace with a list of tasks to check'),
  prompt: z.string().max(262_144).optional().describe('Ours: what is to be done, where no file says it'),
  agent: agent.optional().describe('Ours; default: the program claude'),
  review_agent: agent.optional().describe('Ours; default: the same one'),
  config_override: z.string().max(65_536).nullable().optional().describe('Settings as KEY=VALUE in each line'),
  name: z.string().min(1).max(255).nullable().optional(),
  name_source: z.enum(['haiku', 'spec_slug']).nullable().optional(),
  merge_strategy: z.enum(['none', 'merge', 'squash']).nullable().optional(),
  base_branch: notHere,
  run_branch_prefix: notHere,
  merge_target_branch: notHere,
  worktree_path_template: notHere,
  worktree_provider: notHere,
  worktrunk_bin: notHere,
  worktrunk_config_path: notHere,
  worktrunk_copy_ignored: z.boolean().nullable().optional(),
});

export const LoopStatusWord = z.enum(['PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELED']);

export const LoopRun = z
  .object({
    id: z.string(),
    name: z.string(),
    name_source: z.string(),
    status: word<z.output<typeof LoopStatusWord>>(),
    workspace_root: z.string(),
    spec_path: z.string().nullable(),
    plan_path: z.string().nullable(),
    worktree: z.object({
      base_branch: z.null(),
      run_branch: z.null(),
      merge_target_branch: z.null(),
      merge_strategy: z.string(),
      worktree_path: z.null(),
      provider: z.null(),
    }),
    worktree_cleanup_status: z.null(),
    worktree_cleaned_at: z.null(),
    config_json: z.string().describe('The settings that the run has, as JSON'),
    created_at: Time,
    updated_at: Time,
    review_status: z.string(),
    review_action_at: z.null(),
    pr_url: z.null(),
    merge_commit: z.null(),
    reason: z.string().nullable().describe('Ours: why it failed or was cancelled'),
  })
  .meta({ id: 'LoopRun' });

export const LoopStepView = z
  .object({
    id: z.string(),
    run_id: z.string(),
    phase: z.string(),
    status: z.string(),
    attempt: z.number().describe('Counted for each phase of the run'),
    started_at: Time.nullable(),
    ended_at: Time.nullable(),
    exit_code: z.number().nullable(),
    prompt_path: z.null(),
    output_path: z.null(),
    output: z.string().nullable().describe('Ours: the end of what it said'),
    message: z.string().nullable().describe('Ours: why it failed, in a few words'),
  })
  .meta({ id: 'LoopStep' });

export const LoopEventView = z
  .object({
    id: z.number().describe('Grows from event to event'),
    run_id: z.string(),
    step_id: z.string().optional(),
    event_type: z.string(),
    timestamp: Time,
    payload: Json,
  })
  .meta({ id: 'LoopEvent' });

export const LoopOutput = z.object({
  offset: z.number().describe('Bytes before this text'),
  text: z.string(),
});

export const LoopListQuery = z.strictObject({
  workspace_root: short.optional(),
  status: LoopStatusWord.optional(),
  limit: digits(z.number().min(1).max(200)).default(50).describe('Ours: how many, the newest ones'),
});

export const EventsAfter = z.strictObject({
  after: digits(z.number()).optional().describe('Calendar time in milliseconds: events of then and later'),
});

export const OutputFrom = z.strictObject({
  offset: digits(z.number()).optional().describe('How many bytes of the output to leave out'),
});
