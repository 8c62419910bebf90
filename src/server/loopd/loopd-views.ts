/** Runs, steps and events in the shapes of loopd. */
import type { LoopLook } from '../../operate/loops/loop-look.ts';
import { GIT_FIELDS, settingsIn, WORKTRUNK } from '../../operate/loops/loop-settings.ts';
import type { AnswerOf, BodyOf } from '../../protocol/routes.ts';

type Run = AnswerOf<'getLoop'>['run'];
type Step = AnswerOf<'listLoopSteps'>['steps'][number];
type Event = AnswerOf<'streamLoopEvents'>;

export function runOf(look: LoopLook): Run {
  const { run, input, status, changedAt, reason, worktree, cleanup, merged, review } = look;
  const given = (typeof input === 'object' && input !== null ? input : {}) as Readonly<Record<string, unknown>>;
  const text = (name: string): string | null => (typeof given[name] === 'string' ? (given[name] as string) : null);
  const settings = settingsIn(input);
  return {
    id: run.id,
    name: run.title,
    name_source: 'spec_slug',
    status,
    workspace_root: run.labels['workspace'] ?? text('workspace') ?? text('workspace_root') ?? '',
    spec_path: text('spec_path'),
    plan_path: text('plan_path'),
    worktree: {
      base_branch: worktree?.base ?? settings.base_branch ?? null,
      run_branch: worktree?.branch ?? null,
      merge_target_branch: worktree?.target ?? settings.merge_target_branch ?? null,
      merge_strategy: settings.merge_strategy,
      worktree_path: worktree !== undefined && 'path' in worktree ? worktree.path : null,
      provider: worktree === undefined ? null : 'git',
    },
    worktree_cleanup_status: cleanup?.status ?? null,
    worktree_cleaned_at: cleanup?.status === 'cleaned' ? (cleanup.at ?? null) : null,
    workspace_source: settings.workspace_source,
    repo_url: settings.repo_url ?? null,
    repo_ref: settings.repo_ref ?? null,
    artifact_store: settings.artifact_mode,
    config_json: JSON.stringify(settings),
    created_at: run.createdAt,
    updated_at: changedAt,
    review_status: merged === undefined || review.status === 'scrapped' ? review.status : 'merged',
    review_action_at: review.at ?? null,
    pr_url: null,
    merge_commit: merged ?? review.commit ?? null,
    reason: reason ?? null,
  };
}

export function stepOf(run: string, step: LoopLook['steps'][number]): Step {
  const { phase, status, attempt, startedAt, endedAt, exitCode, output, message, outputPath, promptPath } = step;
  return {
    id: stepId(run, step),
    run_id: run,
    phase,
    status,
    attempt,
    started_at: startedAt ?? null,
    ended_at: endedAt ?? null,
    exit_code: exitCode ?? null,
    prompt_path: promptPath ?? null,
    output_path: outputPath ?? null,
    output: output ?? null,
    message: message ?? null,
  };
}

export function eventOf(run: string, { id, type, at, step, payload }: LoopLook['events'][number]): Event {
  const own = step === undefined ? {} : { step_id: stepId(run, step) };
  return { id, run_id: run, ...own, event_type: type, timestamp: at, payload: { ...own, ...payload } };
}

const stepId = (run: string, { n }: { readonly n: number }): string => `${run}.${n}`;

/** What a request says of git stands beside the config, and goes before it. */
export function gitFieldsOf(body: BodyOf<'startLoop'>): Readonly<Record<string, unknown>> {
  const said = [...GIT_FIELDS, ...WORKTRUNK].map(
    (key) => [key, (body as Readonly<Record<string, unknown>>)[key]] as const,
  );
  return Object.fromEntries(said.filter(([, value]) => (value ?? null) !== null));
}
