/** The settings of a loop that works in a worktree of a repository. */
import { checkName } from '../../../core/names.ts';
import { readBranch, readRef } from '../../../core/workspace/ref.ts';
import { REPO_PROTOCOLS, readRepoAddress } from '../../../core/workspace/repo-address.ts';
import { oneOf, type Read, Wrong, yesOrNo } from '../setting.ts';

export const MERGE_STRATEGIES = ['none', 'merge', 'squash'] as const;
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number];

const WORKSPACE_SOURCES = ['shared_fs', 'git'] as const;
const WORKTREE_PROVIDERS = ['git', 'auto'] as const;

export interface LoopGitConfig {
  /** `git`: the workspace is a clone of `repo_url`, and the branch of the run is pushed there after each phase. */
  readonly workspace_source: (typeof WORKSPACE_SOURCES)[number];
  readonly repo_url?: string | undefined;
  /** What the branch of the run begins with, where `base_branch` says nothing. */
  readonly repo_ref?: string | undefined;
  /** The name of the credential that the repository is read and written with. */
  readonly credential?: string | undefined;
  readonly base_branch?: string | undefined;
  readonly run_branch_prefix?: string | undefined;
  readonly merge_target_branch?: string | undefined;
  readonly merge_strategy: MergeStrategy;
  readonly worktree_path_template?: string | undefined;
  /** `auto`: a worktree where the workspace is a repository, else the plain folder. */
  readonly worktree_provider?: (typeof WORKTREE_PROVIDERS)[number] | undefined;
  /** Whether the worktree goes when the run has completed. Its branch never does. */
  readonly worktree_cleanup: boolean;
}

type GitKeys = {
  readonly [K in keyof LoopGitConfig]-?: {
    readonly read: Read<Exclude<LoopGitConfig[K], undefined>>;
    readonly fallback: LoopGitConfig[K];
  };
};

export const GIT_KEYS: GitKeys = {
  workspace_source: { read: oneOf(WORKSPACE_SOURCES), fallback: 'shared_fs' },
  repo_url: { read: address, fallback: undefined },
  repo_ref: { read: (text) => wrongIf(readRef(text)) ?? text, fallback: undefined },
  credential: { read: credential, fallback: undefined },
  base_branch: { read: branch, fallback: undefined },
  run_branch_prefix: { read: (text) => wrongIf(readBranch(`${text}x`)) ?? text, fallback: undefined },
  merge_target_branch: { read: branch, fallback: undefined },
  merge_strategy: { read: oneOf(MERGE_STRATEGIES), fallback: 'none' },
  worktree_path_template: { read: (text) => text, fallback: undefined },
  worktree_provider: { read: provider, fallback: undefined },
  worktree_cleanup: { read: yesOrNo, fallback: true },
};

/** They may stand beside the config in the input of a run. */
export const GIT_FIELDS = Object.keys(GIT_KEYS) as readonly (keyof LoopGitConfig)[];

/** Settings of another program that makes worktrees. */
export const WORKTRUNK: ReadonlySet<string> = new Set([
  'worktrunk_bin',
  'worktrunk_config_path',
  'worktrunk_copy_ignored',
]);

/**
 * `git`: the run works in a worktree, and fails where the workspace is no repository. `auto`: it works in one where it is. `none`: in the plain folder,
 * as it is for every run that says nothing of git.
 */
export function gitWish(config: LoopGitConfig): 'none' | 'auto' | 'git' {
  const { worktree_provider: made, merge_strategy: strategy, workspace_source: source } = config;
  const said = [
    config.base_branch,
    config.merge_target_branch,
    config.run_branch_prefix,
    config.worktree_path_template,
  ];
  if (made === 'git' || source === 'git' || strategy !== 'none' || said.some((one) => one !== undefined)) return 'git';
  return made ?? 'none';
}

const wrongIf = (read: object | string): Wrong | undefined => (typeof read === 'string' ? new Wrong(read) : undefined);

function branch(text: string): string | Wrong {
  return wrongIf(readBranch(text)) ?? text;
}

function provider(text: string): (typeof WORKTREE_PROVIDERS)[number] | Wrong {
  if (text === 'worktrunk') return new Wrong('worktrees are made by git here, and worktrunk is not used');
  return oneOf(WORKTREE_PROVIDERS)(text);
}

/** Which protocols are spoken is for the worker to say. */
function address(text: string): string | Wrong {
  const read = readRepoAddress(text, REPO_PROTOCOLS);
  if (typeof read === 'string') return new Wrong(read);
  return read.kind === 'remote' ? read.url : read.name;
}

function credential(text: string): string | Wrong {
  return isCredentialName(text) ? text : new Wrong('it is no name of a credential');
}

export function isCredentialName(given: unknown): given is string {
  try {
    checkName('credential', given);
    return true;
  } catch {
    return false;
  }
}
