/** Names of workspaces are words of every task; loops know them by this file. */
export {
  isRootName,
  readPathBelow,
  readWorkspaceName,
  rootTag,
  spelled,
  type WorkspaceName,
} from '../../core/workspace/workspace-name.ts';
