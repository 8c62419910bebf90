import { z } from 'zod';
import { digits, Json, Time, word } from './common.ts';

/** The shapes of runs of loopd, in its own words. */

const short = z.string().max(500);
const agent = z
  .union([z.string().min(1).max(200), z.record(z.string(), Json)])
  .describe('A function that the workers know, by its name, or an agent as machines have it');
/** Of runs in a worktree; what is said here goes before the config. */
const ofGit = (what: string) => short.nullable().optional().describe(what);
const notHere = short.nullable().optional().describe('Refused: worktrees are made by git');

export const LoopStartInput = z.strictObject({
  workspace_root: short
    .min(1)
    .nullable()
    .optional()
    .describe(
      'A root by its name, and a folder below it: main/project. Of a repository that lives elsewhere it may be left out',
    ),
  workspace_source: z.enum(['shared_fs', 'git']).nullable().optional(),
  repo_url: z
    .string()
    .max(2000)
    .nullable()
    .optional()
    .describe('Of the source git: the address of the repository, without any secret in it'),
  repo_ref: ofGit('Of the source git: what the branch of the run begins with'),
  credential: ofGit('Ours, of the source git: the name of the credential that its workers read and write it with'),
  spec_path: short.optional().describe('A file of the workspace that says what is to be built'),
  plan_path: short.nullable().optional().describe('A file of the workspace with a list of tasks to check'),
  prompt: z.string().max(262_144).optional().describe('Ours: what is to be done, where no file says it'),
  agent: agent.optional().describe('Ours; default: the program claude'),
  review_agent: agent.optional().describe('Ours; default: the same one'),
  config_override: z.string().max(65_536).nullable().optional().describe('Settings as KEY=VALUE in each line'),
  name: z.string().min(1).max(255).nullable().optional(),
  name_source: z.enum(['haiku', 'spec_slug']).nullable().optional(),
  merge_strategy: z.enum(['none', 'merge', 'squash']).nullable().optional(),
  base_branch: ofGit('What the branch of the run begins with; default: the branch that is checked out'),
  run_branch_prefix: ofGit('What the name of that branch begins with; default: run/'),
  merge_target_branch: ofGit('Into which it is merged; default: the base'),
  worktree_path_template: ofGit('Where the worktree lies, from the folder of the repository'),
  worktree_provider: ofGit('git, or auto: a worktree where the workspace is a repository'),
  worktree_cleanup: z.boolean().nullable().optional().describe('Whether the worktree goes when the run has completed'),
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
      base_branch: z.string().nullable(),
      run_branch: z.string().nullable(),
      merge_target_branch: z.string().nullable(),
      merge_strategy: z.string(),
      worktree_path: z.string().nullable().describe('Below a root, as workspaces are named'),
      provider: z.string().nullable(),
    }),
    worktree_cleanup_status: z.string().nullable().describe('cleaned, failed or skipped'),
    worktree_cleaned_at: Time.nullable(),
    workspace_source: z.string(),
    repo_url: z.string().nullable(),
    repo_ref: z.string().nullable(),
    artifact_store: z.string().nullable().describe('workspace, global or mirror'),
    config_json: z.string().describe('The settings that the run has, as JSON'),
    created_at: Time,
    updated_at: Time,
    review_status: z.string().describe('pending, reviewed, scrapped or merged'),
    review_action_at: Time.nullable(),
    pr_url: z.null(),
    merge_commit: z.string().nullable(),
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
    prompt_path: z.string().nullable().describe('Of a phase with a new prompt: as output_path'),
    output_path: z
      .string()
      .nullable()
      .describe('What it said: a file below the workspace, or the address of an artifact on this node'),
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

const stats = z.object({ additions: z.number(), deletions: z.number() });

export const LoopMergeQuery = z.strictObject({
  head_ref: z
    .string()
    .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
    .optional()
    .describe('The commit that was looked at, as the diff says it: a branch that has moved since is not merged'),
});

export const LoopDiff = z
  .object({
    base_ref: z.string(),
    head_ref: z.string(),
    commits: z
      .array(
        z.object({
          sha: z.string(),
          message: z.string(),
          author: z.string(),
          timestamp: Time,
          files: z.number(),
          stats,
        }),
      )
      .readonly(),
    files: z
      .array(
        z.object({
          path: z.string(),
          status: z.string().describe('added, modified, deleted or renamed'),
          old_path: z.string().optional(),
          patch: z.string(),
          additions: z.number(),
          deletions: z.number(),
        }),
      )
      .readonly(),
    stats,
    truncated: z.boolean().describe('Ours: more was changed than is told'),
  })
  .meta({ id: 'LoopDiff' });

export const LoopMerged = z.object({ commit: z.string().describe('Of the target, which has all of the run') });

export const LoopWorktree = z
  .object({
    path: z.string().describe('Below a root, as workspaces are named'),
    branch: z.string().nullable(),
    commit: z.string().nullable(),
    run_id: z.string().nullable().describe('The newest run that has worked there, as far as it is known'),
  })
  .meta({ id: 'LoopWorktree' });

export const WorktreesQuery = z.strictObject({
  workspace_root: short.min(1).optional().describe('Ours: all worktrees of this repository, as its worker finds them'),
});

export const WorktreeRemoval = z.strictObject({
  run_id: short.min(1).describe('The run that has ended, whose worktree goes; its branch stays'),
});
