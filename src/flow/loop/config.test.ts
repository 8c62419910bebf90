import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from './config.ts';

test('an empty config is the one that the reference lists', () => {
  const { config, problems, warnings } = readConfig('');
  assert.deepEqual([problems, warnings], [[], []]);
  assert.deepEqual(config, {
    iterations: 50,
    completion_mode: 'trailing',
    reviewer: true,
    verify_cmds: [],
    verify_timeout_sec: 0,
    claude_timeout_sec: 600,
    claude_retries: 0,
    claude_retry_backoff_sec: 5,
    max_consecutive_verification_failures: 3,
    max_consecutive_review_failures: 0,
    workspace_source: 'shared_fs',
    merge_strategy: 'none',
    worktree_cleanup: true,
    queue_policy: 'fifo',
    context_files: [],
    artifact_mode: 'global',
    summary_json: true,
  });
});

test('a text has one setting a line, comments, and quotes that are taken away', () => {
  const text = `# a comment\r\n iterations = 7 \n\nreviewer="off"\nverify_cmds='npm test | npm run lint || true'\ncontext_files=a.md, b.md`;
  const { config, problems } = readConfig(text);
  assert.deepEqual(problems, []);
  assert.deepEqual([config.iterations, config.reviewer], [7, false]);
  assert.deepEqual(config.verify_cmds, ['npm test', 'npm run lint || true']);
  assert.deepEqual(config.context_files, ['a.md', 'b.md']);
});

test('yes has five spellings', () => {
  for (const word of ['true', '1', 'yes', 'y', 'on', 'ON'])
    assert.equal(readConfig(`reviewer=${word}`).config.reviewer, true);
  assert.equal(readConfig('reviewer=no').config.reviewer, false);
});

test('a map says the same as a text', () => {
  const given = { iterations: 3, reviewer: false, verify_cmds: ['make', 'make check | tee log'] };
  const { config, problems } = readConfig(given);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    [config.iterations, config.reviewer, config.verify_cmds],
    [3, false, ['make', 'make check | tee log']],
  );
});

test('a setting that is unknown is told of, with the one that was meant, and stops nothing', () => {
  const { problems, warnings } = readConfig('iteration=3\nmodel=opus\nzzz=1');
  assert.deepEqual(problems, []);
  assert.match(warnings[0] ?? '', /"iteration".*did you mean "iterations"/);
  assert.match(warnings[1] ?? '', /"model" has no effect here/);
  assert.match(warnings[2] ?? '', /there is no setting "zzz"/);
});

test('all that is wrong is listed at once', () => {
  const { problems } = readConfig(
    'iterations=0\nreviewer=maybe\nnonsense\nmerge_strategy=rebase\nqueue_policy=random\n=5',
  );
  assert.equal(problems.length, 6);
  assert.match(problems.join('\n'), /iterations: a whole number from 1/);
  assert.match(problems.join('\n'), /line 3: KEY=VALUE/);
  assert.match(problems.join('\n'), /merge_strategy: one of none, merge, squash/);
});

test('what is neither a text nor a map is refused, and so is a text that is far too long', () => {
  assert.equal(readConfig([1]).problems.length, 1);
  assert.equal(readConfig(`a=${'x'.repeat(70_000)}`).problems.length, 1);
});

test('names of objects are no settings', () => {
  const { warnings, problems } = readConfig('__proto__=1\nconstructor=2');
  assert.deepEqual([warnings.length, problems], [2, []]);
});

test('files of a run have one of three modes, and a summary unless nobody wants it', () => {
  for (const mode of ['workspace', 'global', 'mirror'])
    assert.equal(readConfig(`artifact_mode=${mode}`).config.artifact_mode, mode);
  assert.match(readConfig('artifact_mode=none').problems.join(), /artifact_mode: one of workspace, global, mirror/);
  assert.equal(readConfig('summary_json=no').config.summary_json, false);
});
