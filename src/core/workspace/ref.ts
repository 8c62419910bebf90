/** Names that git gives to commits, by the rules of `git check-ref-format`, and stricter where a name could be read as something else. */

const MOST = 200;
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** A full name of a commit. A short one may mean another commit tomorrow. */
export const isCommit = (text: string): boolean => COMMIT.test(text);

/** A branch, a tag, or a full commit. A text says what is wrong with it. */
export function readRef(text: string): { readonly ref: string } | string {
  const problem = wrongRef(text);
  return problem ?? { ref: text };
}

/** A branch: a ref that is no commit, and not what git itself calls `HEAD` or `refs/…`. */
export function readBranch(text: string): { readonly branch: string } | string {
  const problem = wrongRef(text);
  if (problem !== undefined) return problem;
  if (isCommit(text)) return 'it looks like a commit';
  if (/^(?:HEAD|[A-Z]+_HEAD|@)$/.test(text) || text.startsWith('refs/')) return 'git uses it for itself';
  return { branch: text };
}

function wrongRef(text: string): string | undefined {
  if (text === '') return 'it is empty';
  if (text.length > MOST) return `it has more than ${MOST} characters`;
  if (text.startsWith('-')) return 'it begins with "-"';
  if (!text.isWellFormed() || /[\p{Cc} ~^:?*[\\]/u.test(text))
    return 'it has a space, a control character or one of ~^:?*[\\ in it';
  if (text.includes('..') || text.includes('@{') || text === '@') return 'it has "..", "@{" or only "@" in it';
  if (text.endsWith('/') || text.endsWith('.')) return 'it ends with "/" or "."';
  for (const part of text.split('/')) {
    if (part === '') return 'it begins with "/" or has "//" in it';
    if (part.startsWith('.') || part.startsWith('-') || part.toLowerCase().endsWith('.lock'))
      return 'a part of it begins with "." or "-", or ends with ".lock"';
  }
  return undefined;
}
