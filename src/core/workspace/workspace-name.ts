/** Names of workspaces: a root that workers know by a name, and a folder below it. */

export interface WorkspaceName {
  readonly root: string;
  /** Folders below it; empty: the root itself. */
  readonly below: readonly string[];
}

const MOST = 500;
const ROOT = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** No control characters, no separators of any system, nothing that a shell or a URL reads in another way. */
const FOLDER = /^[\p{L}\p{N}_][\p{L}\p{N} _.@+-]{0,119}$/u;

/** A text says what is wrong with it. */
export function readWorkspaceName(text: string): WorkspaceName | string {
  if (text.length > MOST) return `it has more than ${MOST} characters`;
  const [root = '', ...below] = text.split('/');
  if (!ROOT.test(root))
    return 'it begins with the name of a root that workers have, such as "main/project"; it is no path';
  const wrong = below.find((folder) => !isFolder(folder));
  return wrong === undefined ? { root, below } : `${JSON.stringify(wrong)} is not the name of a folder`;
}

/** A path of a file below a workspace. Undefined: it is none. */
export function readPathBelow(text: string): readonly string[] | undefined {
  const parts = text.split('/');
  return text.length <= MOST && parts.every((part) => isFolder(part.replace(/^\./, ''))) ? parts : undefined;
}

const isFolder = (name: string): boolean => FOLDER.test(name) && !name.endsWith('.') && !name.endsWith(' ');

/** The same workspace has one spelling. */
export const spelled = ({ root, below }: WorkspaceName): string => [root, ...below].join('/');

/** The tag of workers that have a root of this name. */
export const rootTag = (root: string): string => `loop-root=${root}`;

/** A name for a root, as workers may be given it. */
export const isRootName = (name: string): boolean => ROOT.test(name);
