import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChangedFile, changesIn, FOLDED_FROM, openAtFirst, patchLines } from './diff.ts';

const PATCH = `diff --git a/hive.c b/hive.c
index 1..2 100644
--- a/hive.c
+++ b/hive.c
@@ -1,3 +1,4 @@ int main
 bees
-wax
+honey
+comb
 end
@@ -10 +11 @@
-old
\\ No newline at end of file
+new
`;

test('a patch becomes lines with their numbers before and after', () => {
  const lines = patchLines(PATCH).map(({ kind, text, before, after }) => [kind, text, before, after]);
  assert.deepEqual(lines, [
    ['hunk', '@@ -1,3 +1,4 @@ int main', undefined, undefined],
    ['same', 'bees', 1, 1],
    ['delete', 'wax', 2, undefined],
    ['add', 'honey', undefined, 2],
    ['add', 'comb', undefined, 3],
    ['same', 'end', 3, 4],
    ['hunk', '@@ -10 +11 @@', undefined, undefined],
    ['delete', 'old', 10, undefined],
    ['note', 'No newline at end of file', undefined, undefined],
    ['add', 'new', undefined, 11],
  ]);
});

test('lines of a file that look like the head of a patch are lines', () => {
  const lines = patchLines('@@ -1,2 +1,2 @@\n--- a\n+++ b\n');
  assert.deepEqual(
    lines.map(({ kind, text }) => [kind, text]),
    [
      ['hunk', '@@ -1,2 +1,2 @@'],
      ['delete', '-- a'],
      ['add', '++ b'],
    ],
  );
});

test('a binary file is told, and an empty patch has no lines', () => {
  assert.equal(patchLines('diff --git a/x b/x\nBinary files a/x and b/x differ\n')[0]?.kind, 'note');
  assert.deepEqual(patchLines(''), []);
});

test('what a file became besides its lines is told: a program, a link, another repository', () => {
  const told = (...head: readonly string[]) =>
    patchLines(`${['diff --git a/x b/x', ...head].join('\n')}\n`).map(({ kind, text }) => `${kind}: ${text}`);
  assert.deepEqual(told('old mode 100644', 'new mode 100755'), ['note: It can be executed.']);
  assert.deepEqual(told('old mode 100755', 'new mode 100644'), ['note: It can be executed no more.']);
  assert.deepEqual(told('new file mode 100644'), []);
  assert.deepEqual(told('new file mode 160000'), ['note: It is the commit of another repository.']);
  const link = `diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\ndiff --git a/x b/x
new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n`;
  assert.deepEqual(
    patchLines(link).map(({ kind, text }) => `${kind}: ${text}`),
    [
      'hunk: @@ -1 +0,0 @@',
      'delete: a',
      'note: It is a link to what its line says.',
      'hunk: @@ -0,0 +1 @@',
      'add: /etc/passwd',
    ],
  );
});

test('letters that turn the direction of a line are shown, and turn nothing', () => {
  const [, line] = patchLines('@@ -0,0 +1 @@\n+if (user \u2066// admin\u2069 \u202e) 漢 é\n');
  assert.equal(line?.text, 'if (user ‹U+2066›// admin‹U+2069› ‹U+202E›) 漢 é');
});

test('a diff is read as it is meant', () => {
  const changes = changesIn({
    base_ref: 'main',
    head_ref: 'run/hive',
    commits: [
      {
        sha: 'a1',
        message: 'Build the hive\n\nIt holds.',
        author: 'Ada',
        timestamp: 5,
        files: 1,
        stats: { additions: 3, deletions: 2 },
      },
    ],
    files: [{ path: 'b', old_path: 'a', status: 'renamed', patch: PATCH, additions: 3, deletions: 2 }],
    stats: { additions: 3, deletions: 2 },
    truncated: false,
  });
  assert.deepEqual(
    { ...changes, files: changes?.files.map((file) => ({ ...file, patch: '' })) },
    {
      base: 'main',
      head: 'run/hive',
      commits: [
        {
          sha: 'a1',
          subject: 'Build the hive',
          more: 'It holds.',
          author: 'Ada',
          at: 5,
          files: 1,
          additions: 3,
          deletions: 2,
        },
      ],
      files: [{ path: 'b', oldPath: 'a', status: 'renamed', patch: '', additions: 3, deletions: 2 }],
      truncated: false,
      additions: 3,
      deletions: 2,
    },
  );
});

test('what is no diff is none, and what is wrong in one is left out', () => {
  for (const answer of [undefined, null, 'x', 4, [], {}, { files: 'all' }]) assert.equal(changesIn(answer), undefined);
  const changes = changesIn({ files: [null, 'x', { path: 4, status: 'exploded', additions: -1 }], commits: {} });
  assert.deepEqual(changes?.files, [
    { path: '', oldPath: undefined, status: 'modified', patch: '', additions: 0, deletions: 0 },
  ]);
  assert.deepEqual(changes?.commits, []);
});

test('more than a page draws is cut, and said', () => {
  const changes = changesIn({ files: Array.from({ length: 1001 }, (_, i) => ({ path: String(i) })) });
  assert.equal(changes?.files.length, 1000);
  assert.equal(changes?.truncated, true);
});

test('short files are open at first, long ones and those behind many are folded', () => {
  const file = (path: string, lines: number): ChangedFile => ({
    path,
    oldPath: undefined,
    status: 'modified',
    patch: '+x\n'.repeat(lines - 1),
    additions: 0,
    deletions: 0,
  });
  const open = openAtFirst([file('a', 10), file('long', FOLDED_FROM), file('b', 200), file('c', 10)], 100);
  assert.deepEqual([...open], ['a', 'c']);
});
