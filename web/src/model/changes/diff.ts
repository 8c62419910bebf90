/** What a run has changed: commits, files and the lines of each, from an answer that is believed in nothing. */

export interface Stats {
  readonly additions: number;
  readonly deletions: number;
}

export interface Commit extends Stats {
  readonly sha: string;
  /** The first line of its message, and the rest. */
  readonly subject: string;
  readonly more: string;
  readonly author: string;
  /** Undefined: it says no time. */
  readonly at: number | undefined;
  readonly files: number;
}

export type FileStatus = 'added' | 'modified' | 'deleted' | 'renamed';

export interface ChangedFile extends Stats {
  readonly path: string;
  readonly oldPath: string | undefined;
  readonly status: FileStatus;
  readonly patch: string;
}

export interface Changes extends Stats {
  readonly base: string;
  readonly head: string;
  readonly commits: readonly Commit[];
  readonly files: readonly ChangedFile[];
  /** More was changed than is here. */
  readonly truncated: boolean;
}

/** As many as a page draws. What is beyond counts as truncated. */
const MOST_COMMITS = 500;
const MOST_FILES = 1000;
const STATUSES: readonly FileStatus[] = ['added', 'modified', 'deleted', 'renamed'];

type Fields = Readonly<Record<string, unknown>>;

/** The diff in an answer; undefined: there is none in it. */
export function changesIn(answer: unknown): Changes | undefined {
  const said = fieldsOf(answer);
  if (said === undefined || !Array.isArray(said['files'])) return undefined;
  const commits = listOf(said['commits']);
  const files = listOf(said['files']);
  return {
    base: textOf(said['base_ref']),
    head: textOf(said['head_ref']),
    commits: commits.slice(0, MOST_COMMITS).map(commitOf),
    files: files.slice(0, MOST_FILES).map(fileOf),
    truncated: said['truncated'] === true || commits.length > MOST_COMMITS || files.length > MOST_FILES,
    ...statsOf(said['stats']),
  };
}

function commitOf(said: Fields): Commit {
  const [subject = '', ...rest] = textOf(said['message']).split('\n');
  const at = said['timestamp'];
  return {
    sha: textOf(said['sha']),
    subject,
    more: rest.join('\n').trim(),
    author: textOf(said['author']),
    at: typeof at === 'number' && Number.isFinite(at) ? at : undefined,
    files: numberOf(said['files']),
    ...statsOf(said['stats']),
  };
}

function fileOf(said: Fields): ChangedFile {
  const oldPath = textOf(said['old_path']);
  return {
    path: textOf(said['path']),
    oldPath: oldPath === '' ? undefined : oldPath,
    status: STATUSES.find((one) => one === said['status']) ?? 'modified',
    patch: textOf(said['patch']),
    additions: numberOf(said['additions']),
    deletions: numberOf(said['deletions']),
  };
}

export interface PatchLine {
  /** `hunk`: where the next lines are. `note`: what git says about them. */
  readonly kind: 'hunk' | 'add' | 'delete' | 'same' | 'note';
  readonly text: string;
  /** Its number before and after. */
  readonly before: number | undefined;
  readonly after: number | undefined;
}

const HUNK = /^@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@/;

const BINARY = /^(?:Binary files|GIT binary patch)/;

const MODES: ReadonlyMap<string, string> = new Map([
  ['new file mode 100755', 'It can be executed.'],
  ['new mode 100755', 'It can be executed.'],
  ['new mode 100644', 'It can be executed no more.'],
  ['new file mode 120000', 'It is a link to what its line says.'],
  ['new file mode 160000', 'It is the commit of another repository.'],
]);

/** What the head of a patch says that the page does not say itself. */
function noteOf(line: string): string | undefined {
  return BINARY.test(line) ? 'A binary file: its bytes are not shown.' : MODES.get(line);
}

/** A line could be read otherwise than it is meant to a program. */
function withoutTurns(text: string): string {
  return text.replaceAll(
    /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (turn) => `‹U+${turn.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`,
  );
}

/** The lines of a patch with their numbers. A file that became a link has two patches, one after the other. */
export function patchLines(patch: string): readonly PatchLine[] {
  const lines: PatchLine[] = [];
  let before: number | undefined;
  let after = 0;
  for (const line of withoutTurns(patch).replace(/\n$/, '').split('\n')) {
    if (line.startsWith('diff --git ')) before = undefined;
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      lines.push({ kind: 'hunk', text: line, before: undefined, after: undefined });
    } else if (before === undefined) {
      const note = noteOf(line);
      if (note !== undefined) lines.push({ kind: 'note', text: note, before: undefined, after: undefined });
    } else if (line.startsWith('+'))
      lines.push({ kind: 'add', text: line.slice(1), before: undefined, after: after++ });
    else if (line.startsWith('-'))
      lines.push({ kind: 'delete', text: line.slice(1), before: before++, after: undefined });
    else if (line.startsWith('\\'))
      lines.push({ kind: 'note', text: line.slice(2), before: undefined, after: undefined });
    else lines.push({ kind: 'same', text: line.slice(1), before: before++, after: after++ });
  }
  return lines;
}

/** Longer ones are folded until somebody opens them. */
export const FOLDED_FROM = 300;
/** Lines of one file that are drawn at once. */
export const LINES_AT_ONCE = 2_000;

/** The files that are open at first: the first ones, as long as all of them together are no wall of lines. */
export function openAtFirst(files: readonly ChangedFile[], most = 1_200): ReadonlySet<string> {
  const open = new Set<string>();
  let lines = 0;
  for (const { path, patch } of files) {
    const count = linesIn(patch);
    if (count >= FOLDED_FROM || lines + count > most) continue;
    lines += count;
    open.add(path);
  }
  return open;
}

function linesIn(patch: string): number {
  let count = 1;
  for (let at = patch.indexOf('\n'); at !== -1; at = patch.indexOf('\n', at + 1)) count += 1;
  return count;
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf).filter((one) => one !== undefined) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

function statsOf(value: unknown): Stats {
  const said = fieldsOf(value) ?? {};
  return { additions: numberOf(said['additions']), deletions: numberOf(said['deletions']) };
}
