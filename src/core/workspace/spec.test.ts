import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWorkspaceSpec } from './spec.ts';

const problemsOf = (given: unknown): readonly string[] => {
  const read = readWorkspaceSpec(given);
  return 'problems' in read ? read.problems : [];
};

test('each source has its fields, in one spelling', () => {
  assert.deepEqual(readWorkspaceSpec({ source: 'shared_fs', path: 'main/shop' }), {
    spec: { source: 'shared_fs', path: 'main/shop' },
  });
  assert.deepEqual(readWorkspaceSpec({ source: 'empty', keep: 'on-failure' }), {
    spec: { source: 'empty', keep: 'on-failure' },
  });
  const commit = 'a'.repeat(40);
  const whole = {
    source: 'git',
    repo: 'git@github.com:org/shop.git',
    ref: 'main',
    commit,
    branch: 'run/a',
    credential: 'github',
    publish: 'push',
    keep: 'delete',
  };
  assert.deepEqual(readWorkspaceSpec(whole), { spec: { ...whole, repo: 'ssh://git@github.com/org/shop.git' } });
  assert.deepEqual(readWorkspaceSpec({ source: 'git', repo: 'main/shop', ref: null, keep: undefined }), {
    spec: { source: 'git', repo: 'main/shop' },
  });
});

test('all that is wrong is told at once', () => {
  assert.deepEqual(
    problemsOf({
      source: 'git',
      repo: 'file:///etc',
      ref: '-x',
      commit: 'abc',
      branch: 'HEAD',
      credential: 'A b',
      publish: 'mail',
      keep: 1,
    }),
    [
      '"repo": its protocol is none of https, ssh, http',
      '"ref": it begins with "-"',
      '"commit": it is not the full name of a commit: 40 or 64 small hex digits',
      '"branch": git uses it for itself',
      '"credential": The credential name is not valid: "A b" is not 1 to 63 of a-z, 0-9, ".", "_" and "-", beginning with a letter or a digit.',
      '"publish": it is none of push, bundle, none',
      '"keep": it is not a text',
    ],
  );
  assert.deepEqual(problemsOf({ source: 'shared_fs', path: '/etc' }).length, 1);
});

test('a field that is missing or unknown is named, with the one that was meant', () => {
  assert.deepEqual(problemsOf({ source: 'git', rep: 'main/shop' }), [
    'there is no field "rep"; did you mean "repo"?',
    '"repo" is missing',
  ]);
  assert.deepEqual(problemsOf({ source: 'empty', something: 1 }), [
    'there is no field "something" here; there are source, keep',
  ]);
});

test('what is no object, or of no source, is refused', () => {
  for (const given of [undefined, null, 'x', 1, []]) assert.deepEqual(problemsOf(given), ['it is not an object']);
  for (const source of [undefined, 'svn', 'constructor'])
    assert.deepEqual(problemsOf({ source }), ['"source" is none of shared_fs, git, empty']);
});

test('a worker that takes fewer protocols refuses the others', () => {
  const read = readWorkspaceSpec({ source: 'git', repo: 'http://host/x' }, ['https']);
  assert.deepEqual(read, { problems: ['"repo": its protocol is none of https'] });
});
