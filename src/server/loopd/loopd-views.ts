/** Runs, steps and events in the shapes of loopd. */
import type { LoopLook } from '../../operate/loops/loop-look.ts';
import { settingsIn } from '../../operate/loops/loop-settings.ts';
import type { AnswerOf, BodyOf } from '../../protocol/routes.ts';

type Run = AnswerOf<'getLoop'>['run'];
type Step = AnswerOf<'listLoopSteps'>['steps'][number];
type Event = AnswerOf<'streamLoopEvents'>;

export function runOf({ run, input, status, changedAt, reason }: LoopLook): Run {
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
      base_branch: null,
      run_branch: null,
      merge_target_branch: null,
      merge_strategy: settings.merge_strategy,
      worktree_path: null,
      provider: null,
    },
    worktree_cleanup_status: null,
    worktree_cleaned_at: null,
    config_json: JSON.stringify(settings),
    created_at: run.createdAt,
    updated_at: changedAt,
    review_status: 'pending',
    review_action_at: null,
    pr_url: null,
    merge_commit: null,
    reason: reason ?? null,
  };
}

export function stepOf(run: string, step: LoopLook['steps'][number]): Step {
  const { phase, status, attempt, startedAt, endedAt, exitCode, output, message } = step;
  return {
    id: stepId(run, step),
    run_id: run,
    phase,
    status,
    attempt,
    started_at: startedAt ?? null,
    ended_at: endedAt ?? null,
    exit_code: exitCode ?? null,
    prompt_path: null,
    output_path: null,
    output: output ?? null,
    message: message ?? null,
  };
}

export function eventOf(run: string, { id, type, at, step, payload }: LoopLook['events'][number]): Event {
  const own = step === undefined ? {} : { step_id: stepId(run, step) };
  return { id, run_id: run, ...own, event_type: type, timestamp: at, payload: { ...own, ...payload } };
}

const stepId = (run: string, { n }: { readonly n: number }): string => `${run}.${n}`;

/** The settings of a request: a field goes over a line. */
export function settingsOf({ config_override: text, merge_strategy: strategy }: BodyOf<'startLoop'>): string {
  return [text ?? '', ...((strategy ?? null) === null ? [] : [`merge_strategy=${strategy}`])].join('\n');
}
