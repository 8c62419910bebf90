/** The tags by which tasks find workers that can give them a workspace. */
import { REPO_PROTOCOLS, readRepoAddress } from './repo-address.ts';
import type { WorkspaceSpec } from './workspace.ts';
import { rootTag } from './workspace-name.ts';

/** The tag of a worker that makes workspaces of this source. Folders of roots have a tag for each root. */
export const sourceTag = (source: 'git' | 'empty'): string => `workspace=${source}`;

/** What the placement of a task asks for, so that its workspace can be made. */
export function tagsFor(spec: WorkspaceSpec): readonly string[] {
  if (spec.source === 'shared_fs') return [rootTag(rootOf(spec.path))];
  if (spec.source === 'empty') return [sourceTag('empty')];
  const address = readRepoAddress(spec.repo, REPO_PROTOCOLS);
  if (typeof address === 'string' || address.kind === 'remote') return [sourceTag('git')];
  return [sourceTag('git'), rootTag(rootOf(address.name))];
}

/** Tasks of one key want the worker that had the last of them, which has the objects and often the worktree. Undefined: any worker is as good. */
export function affinityOf(spec: WorkspaceSpec): string | undefined {
  if (spec.source !== 'git') return undefined;
  const address = readRepoAddress(spec.repo, REPO_PROTOCOLS);
  if (typeof address === 'string') return undefined;
  const repo = address.kind === 'remote' ? address.url : address.name;
  return spec.branch === undefined ? repo : `${repo}#${spec.branch}`;
}

const rootOf = (path: string): string => path.split('/', 1)[0] as string;
