import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  matchesRun,
  NO_RUN_FILTER,
  newRuns,
  queryOfRuns,
  runFilterOf,
  whyOf,
  withFirstPage,
  withNextPage,
  withRun,
} from './list.ts';

interface Row {
  readonly id: string;
  readonly name?: string;
  readonly kind: string;
  readonly title: string;
  readonly state: string;
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly current?: string;
}

const run = (at: number, more: Partial<Row> = {}): Row => ({
  id: `r${at}`,
  kind: 'machine',
  title: 'review',
  state: 'running',
  createdAt: at,
  labels: { team: 'bees' },
  ...more,
});
const idsOf = (rows: readonly Row[]): string => rows.map(({ id }) => id).join(' ');

test('a filter is in the address, and comes back from it', () => {
  const filter = { state: 'failed', kind: 'machine', name: 'nightly/' };
  assert.deepEqual(runFilterOf(queryOfRuns(filter)), filter);
  assert.equal(queryOfRuns(NO_RUN_FILTER), '');
  assert.ok(matchesRun(run(1, { state: 'failed', name: 'nightly/7' }), filter));
  assert.ok(!matchesRun(run(1, { state: 'failed' }), filter));
});

test('new runs come at the top, and older ones that were loaded stay', () => {
  const rows = [run(3), run(2), run(1)];
  assert.equal(idsOf(withFirstPage(rows, [run(4), run(3)], false)), 'r4 r3 r2 r1');
  assert.equal(idsOf(withFirstPage(rows, [run(4)], true)), 'r4');
  assert.equal(idsOf(withNextPage(rows, [run(1), run(0)])), 'r3 r2 r1 r0');
});

test('a page that brings nothing new changes nothing, and keeps the state that only a single read tells', () => {
  const rows = [run(2, { current: 'draft' }), run(1)];
  assert.equal(withFirstPage(rows, [run(2), run(1)], true), rows);
  assert.equal(withFirstPage(rows, [run(2, { state: 'completed' }), run(1)], true)[0]?.current, undefined);
});

test('a run that was read again is patched in place, and leaves when it no longer matches', () => {
  const rows = [run(2), run(1)];
  const filter = { ...NO_RUN_FILTER, state: 'running' };
  const ended = run(2, { state: 'completed' });
  assert.equal(idsOf(withRun(rows, ended, filter, false)), 'r1');
  assert.equal(withRun(rows, ended, filter, true)[0]?.state, 'completed');
  assert.equal(withRun(rows, run(2), filter, false), rows);
  assert.equal(withRun(rows, run(9), filter, false), rows);
});

test('what has come while the list stands still is counted', () => {
  assert.equal(newRuns([run(2), run(1)], [run(4), run(3), run(2)]), 2);
});

test('the word beside a state says what the state does not', () => {
  const failed = { state: 'failed', reason: 'exhausted', cancelRequestedAt: 1 };
  assert.equal(whyOf(failed), 'exhausted');
  assert.equal(whyOf({ state: 'cancelled', reason: 'requested', cancelRequestedAt: 1 }), undefined);
  assert.equal(whyOf({ state: 'running', cancelRequestedAt: 1 }), 'cancelling');
  assert.equal(whyOf({ state: 'waiting' }), undefined);
});
