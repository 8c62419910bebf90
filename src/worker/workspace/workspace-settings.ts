import type { RepoProtocol } from '../../core/workspace/repo-address.ts';
import type { WorkspaceCaps } from '../../workspace/resolver.ts';

/** What the operator of a worker allows to workspaces. */
export interface WorkspaceSettings {
  /** Workers of one host may share it: each takes a place in it that is its own. */
  readonly folder: string;
  /** Folders by the names that tasks have for them. */
  readonly roots: ReadonlyMap<string, string>;
  readonly protocols?: readonly RepoProtocol[] | undefined;
  readonly hosts?: readonly string[] | undefined;
  readonly caps?: Partial<WorkspaceCaps> | undefined;
  /** Where git is found. */
  readonly path?: string | undefined;
  /** Its node says which tags it has: it offers none by itself. */
  readonly untagged?: boolean | undefined;
}
