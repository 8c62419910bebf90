/** Names that follow from the name of a run: its branch, and the folder of its worktree. */
import { readBranch } from './ref.ts';

const LONGEST_SLUG = 80;
export const RUN_BRANCH_PREFIX = 'run/';
export const WORKTREE_TEMPLATE = '../{{ repo }}.{{ run_branch | sanitize }}';

/** Small letters, digits and single dashes; never empty. */
export function slug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST_SLUG)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'run' : plain;
}

/** `run/` and the slug of the name. A text says what is wrong with the prefix. */
export function runBranch(name: string, prefix: string = RUN_BRANCH_PREFIX): { readonly branch: string } | string {
  return readBranch(`${prefix}${slug(name)}`);
}

/** A branch as one name of a folder. */
export const sanitized = (text: string): string =>
  text.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[.-]+/, '') || 'branch';

/**
 * The path of a worktree from its template, relative to the folder of the repository: one folder beside it, or below it. The template comes from a
 * file of the repository, so it may name no other place. A text says what is wrong with it.
 */
export function worktreePath(
  template: string,
  { repo, runBranch: branch }: { readonly repo: string; readonly runBranch: string },
): { readonly path: string } | string {
  if (template.length > 500) return 'it has more than 500 characters';
  const values: Readonly<Record<string, string>> = {
    repo: sanitized(repo),
    'repo|sanitize': sanitized(repo),
    run_branch: branch,
    'run_branch|sanitize': sanitized(branch),
  };
  let unknown: string | undefined;
  const path = template.replace(/\{\{([^{}]*)\}\}/g, (whole, inside: string) => {
    const value = values[inside.replace(/\s+/g, '')];
    unknown ??= value === undefined ? whole : undefined;
    return value ?? '';
  });
  if (unknown !== undefined)
    return `${unknown.slice(0, 80)} is unknown; there are repo and run_branch, and the filter sanitize`;
  const parts = path.replace(/^\.\.\//, '').split('/');
  if (
    parts.length > 10 ||
    !parts.every((part) => /^(?!-)(?!\.+$)[\p{L}\p{N}_.@+ -]{1,200}$/u.test(part) && part.toLowerCase() !== '.git')
  )
    return 'it leads to no folder below the repository or right beside it';
  if (parts.join('/') === sanitized(repo) && path.startsWith('../')) return 'it is the folder of the repository itself';
  return { path };
}
