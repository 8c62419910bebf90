import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPathBelow } from '../../../core/workspace/workspace-name.ts';
import { FIRST } from '../loop-state.ts';
import { artifactName, logFile, rewriteFile, runFolder, tailFile } from './file-names.ts';
import { PhaseLog } from './phase-log.ts';
import { planTasks } from './plan-tasks.ts';
import { type ReportRow, withRow } from './report.ts';
import { summaryOf } from './summary.ts';

test('files are named by their iteration and their phase', () => {
  assert.equal(logFile(1, 'implementation'), 'iter-01-impl.log');
  assert.equal(logFile(12, 'verification'), 'iter-12-verify.log');
  assert.equal(logFile(100, 'merge'), 'iter-100-merge.log');
  assert.equal(tailFile(3), 'iter-03.tail.txt');
  assert.equal(rewriteFile(2), 'prompt.rewrite.2.txt');
  assert.equal(artifactName('report.tsv'), 'loop/report.tsv');
});

test('the folder of a run leads nowhere else, whatever its id is, and no two ids have the same one', () => {
  assert.deepEqual(runFolder('tsk_1a'), ['logs', 'loop', 'run-tsk_1a']);
  const ids = [
    '../../etc',
    'a/b',
    'a%2f-b',
    'a_b',
    'a b',
    '.',
    '..',
    'ü',
    'a\0',
    '😀',
    'x'.repeat(300),
    `${'x'.repeat(299)}y`,
  ];
  const names = ids.map((id) => runFolder(id).at(-1) as string);
  assert.equal(new Set(names).size, ids.length);
  for (const name of names) {
    assert.match(name, /^run-[A-Za-z0-9_%~-]+$/);
    assert.ok(name.length < 130);
  }
  assert.equal(readPathBelow('../../etc'), undefined);
});

test('what a phase says is kept line by line, with what it was in all', () => {
  const log = new PhaseLog();
  for (const text of ['one', 'two\nthree', 'ü']) log.add(text);
  assert.equal(log.text(), 'one\ntwo\nthree\nü\n');
  assert.deepEqual([log.lines, log.bytes], [4, 17]);
  assert.equal(log.tail(2), 'three\nü\n');
  assert.equal(log.tail(100), log.text());
  assert.ok(log.endsWith('more\nthree\n'));
  assert.ok(!log.endsWith('thre'));
  assert.equal(new PhaseLog().text(), '');
});

test('of too much the beginning and the end are kept, and how much is left out is said', () => {
  const log = new PhaseLog({ line: 10, head: 40, tail: 40 });
  for (let n = 0; n < 20_000; n++) log.add(`line ${n}`);
  log.add('y'.repeat(100));
  const lines = log.text().trimEnd().split('\n');
  assert.deepEqual(lines.slice(0, 2), ['line 0', 'line 1']);
  assert.equal(lines.at(-1), `${'y'.repeat(10)} [… cut]`);
  const gap = lines.findIndex((line) => line.includes('are left out'));
  assert.ok(log.text().length < 150);
  const leftOut = Number(/(\d+) lines/.exec(lines[gap] ?? '')?.[1]);
  assert.equal(leftOut + lines.length - 1, 20_001, 'each line is there or is counted');
  assert.equal(log.lines, 20_001);
  assert.equal(log.tail(1), `${'y'.repeat(10)} [… cut]\n`);
  assert.ok(!log.tail(200).includes('line 0\n'), 'a tail has no gap');
});

const ROW: ReportRow = {
  timestamp_ms: 1,
  kind: 'impl',
  iteration: 1,
  duration_ms: 5,
  exit_code: 0,
  output_bytes: 10,
  output_lines: 2,
  output_path: 'logs/x',
  message: undefined,
  tasks_done: 1,
  tasks_total: 3,
};
const HEADER =
  'timestamp_ms\tkind\titeration\tduration_ms\texit_code\toutput_bytes\toutput_lines\toutput_path\tmessage\ttasks_done\ttasks_total';

test('a report has one row for each phase, and a phase that was done again replaces its own', () => {
  const one = withRow('', ROW);
  assert.equal(one, `${HEADER}\n1\timpl\t1\t5\t0\t10\t2\tlogs/x\t\t1\t3\n`);
  const two = withRow(one, { ...ROW, kind: 'review', exit_code: undefined });
  const again = withRow(two, { ...ROW, timestamp_ms: 9 });
  assert.deepEqual(
    again
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').slice(0, 3).join(' ')),
    ['timestamp_ms kind iteration', '1 review 1', '9 impl 1'],
  );
});

test('no value of a report ends its cell or its row, or is a formula', () => {
  const text = withRow('anything\nelse\n', { ...ROW, message: '=1+1\t\r\na\u2028b\0' });
  assert.equal(text.split('\n').length, 3);
  assert.equal((text.split('\n')[1] as string).split('\t')[8], "'=1+1 a b");
  const long = withRow('', { ...ROW, message: 'm'.repeat(10_000) });
  assert.ok(long.length < 1000);
});

test('a report that is too long loses its oldest rows', () => {
  let text = '';
  for (let iteration = 1; iteration <= 50; iteration++) text = withRow(text, { ...ROW, iteration }, 500);
  assert.ok(text.length <= 500);
  assert.ok(text.startsWith(`${HEADER}\n`));
  assert.match(text, /\timpl\t50\t/);
  assert.doesNotMatch(text, /\timpl\t1\t/);
});

test('the tasks of a plan are its boxes', () => {
  assert.deepEqual(planTasks('- [x] a\n- [ ] b\n  1. [X] c\n[ ] none\n'), { done: 2, total: 3 });
  assert.deepEqual(planTasks(''), { done: 0, total: 0 });
});

test('a summary says how a run has ended', () => {
  const records = [
    { phase: 'implementation', attempt: 1, ok: true },
    { phase: 'verification', attempt: 1, ok: false },
    { phase: 'implementation', attempt: 2, ok: true },
  ] as const;
  const ended = {
    executionId: 'run',
    name: undefined,
    workspace: 'main/shop',
    at: 7,
    branch: 'run/x',
    base: 'main',
    commit: undefined,
    merged: undefined,
    tasks: { done: 1, total: 2 },
  };
  const failed = summaryOf({ ...ended, state: { ...FIRST, records, next: 'failed', failure: 'why' } });
  assert.deepEqual(failed, {
    run_id: 'run',
    name: null,
    workspace: 'main/shop',
    status: 'FAILED',
    reason: 'why',
    iterations: 2,
    rewrites: 0,
    phases: { implementation: { attempts: 2, failed: 0 }, verification: { attempts: 1, failed: 1 } },
    base_branch: 'main',
    run_branch: 'run/x',
    commit: null,
    merge_commit: null,
    tasks_done: 1,
    tasks_total: 2,
    ended_at: 7,
  });
  const done = summaryOf({ ...ended, tasks: undefined, state: { ...FIRST, next: 'completed' } });
  assert.deepEqual([done['status'], done['reason'], done['tasks_total']], ['COMPLETED', null, null]);
});
