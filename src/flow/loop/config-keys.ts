/** The settings of a loop, each once: `KEY=VALUE` in a text, or entries of a map. */
import { COMPLETION_MODES, type CompletionMode } from './completion.ts';
import { ARTIFACT_MODES, type ArtifactMode } from './files/file-names.ts';
import { GIT_KEYS, type LoopGitConfig } from './git/git-keys.ts';
import { oneOf, type Read, Wrong, yesOrNo } from './setting.ts';
import { readPathBelow } from './workspace-name.ts';

export const QUEUE_POLICIES = ['fifo', 'newest_first'] as const;
export type QueuePolicy = (typeof QUEUE_POLICIES)[number];

export interface LoopConfig extends LoopGitConfig {
  readonly iterations: number;
  readonly completion_mode: CompletionMode;
  /** Whether each implementation is reviewed. */
  readonly reviewer: boolean;
  /** Lines for a shell, one after the other. None: a verification always passes. */
  readonly verify_cmds: readonly string[];
  /** For each of them; 0: no bound. */
  readonly verify_timeout_sec: number;
  /** For one try of an agent; 0: no bound. */
  readonly claude_timeout_sec: number;
  readonly claude_retries: number;
  readonly claude_retry_backoff_sec: number;
  /** In a row; 0: no bound. */
  readonly max_consecutive_verification_failures: number;
  readonly max_consecutive_review_failures: number;
  readonly queue_policy: QueuePolicy;
  /** Files of the workspace that the agents are told to read as well. */
  readonly context_files: readonly string[];
  /** Where the files of the run go. */
  readonly artifact_mode: ArtifactMode;
  /** Whether there is a summary among them. */
  readonly summary_json: boolean;
}

export type ConfigKeys = {
  /** Without a fallback: nobody has said it. */
  readonly [K in keyof LoopConfig]-?: {
    readonly read: Read<Exclude<LoopConfig[K], undefined>>;
    readonly fallback: LoopConfig[K];
  };
};

const MOST_COMMANDS = 100;

export const CONFIG_KEYS: ConfigKeys = {
  iterations: { read: whole(1, 100_000), fallback: 50 },
  completion_mode: { read: oneOf(COMPLETION_MODES), fallback: 'trailing' },
  reviewer: { read: yesOrNo, fallback: true },
  verify_cmds: { read: piped, fallback: [] },
  verify_timeout_sec: { read: whole(0, 604_800), fallback: 0 },
  claude_timeout_sec: { read: whole(0, 604_800), fallback: 600 },
  claude_retries: { read: whole(0, 1000), fallback: 0 },
  claude_retry_backoff_sec: { read: whole(0, 86_400), fallback: 5 },
  max_consecutive_verification_failures: { read: whole(0, 100_000), fallback: 3 },
  max_consecutive_review_failures: { read: whole(0, 100_000), fallback: 0 },
  ...GIT_KEYS,
  queue_policy: { read: oneOf(QUEUE_POLICIES), fallback: 'fifo' },
  context_files: { read: paths, fallback: [] },
  // Not that of loopd, which is "mirror": nobody finds files in a folder of theirs that they did not ask for.
  artifact_mode: { read: oneOf(ARTIFACT_MODES), fallback: 'global' },
  summary_json: { read: yesOrNo, fallback: true },
};

/** Settings of loopd that mean nothing here so far. They are taken, and told of. */
export const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'specs_dir',
  'plans_dir',
  'log_dir',
  'global_log_dir',
  'model',
  'review_model',
  'prompt_file',
  'run_naming_mode',
  'run_naming_model',
  'postmortem',
  'skills_enabled',
  'skills_dirs',
  'max_concurrent_runs',
  'max_runs_per_workspace',
]);

function whole(least: number, most: number): Read<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : new Wrong(`a whole number from ${least} to ${most} is expected`);
  };
}

/** `a|b`: one after the other. `||` belongs to the line of a shell, and so does every bar in a list. */
function piped(text: string, list?: readonly string[]): readonly string[] | Wrong {
  const commands = (list ?? text.split(/(?<!\|)\|(?!\|)/)).map((one) => one.trim()).filter((one) => one !== '');
  if (commands.some((command) => command.includes('\0'))) return new Wrong('a command contains NUL');
  return commands.length <= MOST_COMMANDS ? commands : new Wrong(`at most ${MOST_COMMANDS} commands are expected`);
}

function paths(text: string, list?: readonly string[]): readonly string[] | Wrong {
  const all = list ?? text.split(/[\s,]+/).filter((word) => word !== '');
  const wrong = all.find((path) => readPathBelow(path) === undefined);
  return wrong === undefined ? all : new Wrong(`${JSON.stringify(wrong.slice(0, 80))} is no path below the workspace`);
}
