/** Where the worktree of a run lies, and on which branch it is. */
import { REPO_PROTOCOLS, readRepoAddress } from '../../../core/workspace/repo-address.ts';
import { RUN_BRANCH_PREFIX, runBranch, WORKTREE_TEMPLATE, worktreePath } from '../../../core/workspace/run-branch.ts';
import { readWorkspaceName } from '../workspace-name.ts';
import { gitWish, type LoopGitConfig } from './git-keys.ts';

interface WorktreePlan {
  /** A root and a folder below it, as workspaces have them. A folder may begin with a dot. */
  readonly path: string;
  readonly branch: string;
}

/** A text says what is wrong with it. `name`: of the run. */
export function planWorktree(workspace: string, name: string, config: LoopGitConfig): WorktreePlan | string {
  const { run_branch_prefix: prefix = RUN_BRANCH_PREFIX, worktree_path_template: template = WORKTREE_TEMPLATE } =
    config;
  const branch = runBranch(name, prefix);
  if (typeof branch === 'string') return `run_branch_prefix: ${branch}`;
  const repo = workspace.split('/');
  const found = worktreePath(template, { repo: repo.at(-1) as string, runBranch: branch.branch });
  if (typeof found === 'string') return `worktree_path_template: ${found}`;
  const isBeside = found.path.startsWith('../');
  // What lies beside the root lies outside of it.
  if (isBeside && repo.length === 1)
    return `worktree_path_template: the repository is the root "${workspace}" itself: name a folder below it, such as .worktrees/{{ run_branch | sanitize }}`;
  const parts = isBeside ? [...repo.slice(0, -1), found.path.slice(3)] : [...repo, found.path];
  return { path: parts.join('/'), branch: branch.branch };
}

/** What is wrong before any run has a name. */
export function planProblems(workspace: string, config: LoopGitConfig): readonly string[] {
  const { workspace_source: source, repo_url: url, repo_ref: ref, credential } = config;
  if (source === 'git') return cloneProblems(config);
  const lone = [
    ['repo_url', url],
    ['repo_ref', ref],
    ['credential', credential],
  ].find(([, value]) => value !== undefined);
  if (lone !== undefined) return [`${lone[0]}: it belongs to workspace_source "git"`];
  if (gitWish(config) === 'none' || typeof readWorkspaceName(workspace) === 'string') return [];
  const plan = planWorktree(workspace, 'x', config);
  return typeof plan === 'string' ? [plan] : [];
}

function cloneProblems({
  repo_url: url,
  run_branch_prefix: prefix = RUN_BRANCH_PREFIX,
  worktree_path_template: template,
}: LoopGitConfig): readonly string[] {
  if (url === undefined) return ['repo_url: workspace_source "git" needs the address of a repository'];
  const address = readRepoAddress(url, REPO_PROTOCOLS);
  if (typeof address === 'string') return [`repo_url: ${address}`];
  if (address.kind === 'root')
    return ['repo_url: it is a folder below a root: name it as the workspace, without workspace_source'];
  if (template !== undefined)
    return ['worktree_path_template: with workspace_source "git" the worker says where the folder lies'];
  const branch = runBranch('x', prefix);
  return typeof branch === 'string' ? [`run_branch_prefix: ${branch}`] : [];
}
