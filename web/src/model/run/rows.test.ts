import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  besideName,
  hasDetail,
  isIn,
  openChildren,
  rowsOf,
  type Standing,
  type Step,
  type StepRow,
  tookOf,
  workIn,
} from './rows.ts';

const RUN: Standing = { id: 'r', state: 'running', createdAt: 0, startedAt: 10, waits: [] };

function step(key: string, more: Partial<Step> = {}): Step {
  return { task: 'r', key, kind: 'step', name: key, attempt: 1, began: 20, at: 30, forkable: true, ...more };
}

const shown = (rows: readonly StepRow[]): readonly string[] =>
  rows.map(({ key, level, open }) => `${'  '.repeat(level)}${key}${open === undefined ? '' : open ? ' ▾' : ' ▸'}`);

const NOTHING = new Set<string>();

test('parts stand below their step, in the order of time', () => {
  const steps = [
    step('s:000001', { began: 10, at: 20 }),
    step('s:000002/1', { kind: 'child', child: 'c1', state: 'completed', began: 22, at: 22 }),
    step('s:000002/0', { kind: 'child', child: 'c0', state: 'running', began: 21, at: 21 }),
    step('s:000002', { began: 20, at: 60 }),
  ];
  assert.deepEqual(shown(rowsOf(RUN, new Map([['r', steps]]), NOTHING)), [
    's:000001',
    's:000002 ▾',
    '  s:000002/0 ▸',
    '  s:000002/1 ▸',
  ]);
});

test('a step that another attempt has written began with the first of its parts', () => {
  const steps = [
    step('s:000002/0', { kind: 'child', child: 'c', state: 'completed', began: undefined, at: 21, ended: 50 }),
    step('s:000001', { began: 10, at: 20 }),
    step('s:000002', { began: 55, at: 60 }),
  ];
  const rows = rowsOf(RUN, new Map([['r', steps]]), NOTHING);
  assert.deepEqual(
    rows.map(({ key, from, until }) => [key, from, until]),
    [
      ['s:000001', 10, 20],
      ['s:000002', 21, 60],
      ['s:000002/0', 21, 50],
    ],
  );
});

test('what began together keeps its order, whatever ends first', () => {
  const child = (i: number, ended: number): Step =>
    step(`all/${i}`, { kind: 'child', child: `c${i}`, state: 'completed', began: 5, at: 5, ended });
  const keys = rowsOf(RUN, new Map([['r', [child(10, 6), child(2, 9), child(1, 8)]]]), NOTHING).map(({ key }) => key);
  assert.deepEqual(keys, ['all/1', 'all/2', 'all/10']);
});

test('what a workflow in code notes beside its calls has no row, but that a step has begun until it has ended', () => {
  const steps = [
    step('w:000001/child:quote#0', { kind: 'child', child: 'c', state: 'completed' }),
    step('w:000002/end:child:quote#0', { kind: 'wait' }),
    step('w:000003/due:approval:pay#0', { kind: 'mark' }),
    step('w:000004/begun:step:charge#0', { kind: 'mark' }),
    step('w:000005/begun:step:mail#0', { kind: 'mark' }),
    step('w:000006/step:charge#0'),
    step('w:000007/error:step:mend#0'),
  ];
  assert.deepEqual(
    rowsOf(RUN, new Map([['r', steps]]), NOTHING).map(({ key }) => key.slice(key.indexOf('/') + 1)),
    ['child:quote#0', 'begun:step:mail#0', 'step:charge#0', 'error:step:mend#0'],
  );
});

test('the tasks of a node of a graph stand below it before it has ended', () => {
  const task = (i: number, state: string, ended?: number): Step =>
    step(`n:2/${i}`, {
      kind: 'child',
      child: `c${i}`,
      name: i === 0 ? 'each' : `each (${i + 1})`,
      state,
      began: 20 + i,
      at: 20 + i,
      ended,
    });
  const one = step('n:3/0', { kind: 'child', child: 'd', name: 'single', state: 'running', began: 40, at: 40 });
  const rows = rowsOf(RUN, new Map([['r', [task(0, 'completed', 30), task(1, 'running'), one]]]), NOTHING);
  assert.deepEqual(shown(rows), ['n:2 ▾', '  n:2/0 ▸', '  n:2/1 ▸', 'n:3/0 ▸']);
  const [node] = rows;
  assert.deepEqual([node?.name, node?.tone, node?.from, node?.until], ['each', 'running', 20, undefined]);
  const over = rowsOf(RUN, new Map([['r', [task(0, 'failed', 30), task(1, 'completed', 50)]]]), NOTHING);
  assert.deepEqual([over[0]?.tone, over[0]?.until], ['failed', 50]);
});

test('a child that is opened shows its own steps, and only then its journal is needed', () => {
  const journals = new Map([
    ['r', [step('kid', { kind: 'child', child: 'c', state: 'running' })]],
    ['c', [step('inner', { task: 'c', began: 40, at: 50 })]],
  ]);
  const closed = rowsOf(RUN, journals, NOTHING);
  assert.deepEqual([shown(closed), openChildren(closed)], [['kid ▸'], []]);
  const open = rowsOf(RUN, journals, new Set(['r kid']));
  assert.deepEqual([shown(open), openChildren(open)], [['kid ▾', '  inner'], ['c']]);
});

test('a step with many parts is closed at first', () => {
  const parts = Array.from({ length: 41 }, (_, i) => step(`map/${i}`, { kind: 'element' }));
  assert.deepEqual(shown(rowsOf(RUN, new Map([['r', [step('map'), ...parts]]]), NOTHING)), ['map ▸']);
});

test('a task that is its own child does not open for ever', () => {
  const journals = new Map([['r', [step('kid', { kind: 'child', child: 'r', state: 'running' })]]]);
  assert.deepEqual(shown(rowsOf(RUN, journals, new Set(['r kid']))), ['kid']);
});

test('the state under way has a row until the journal has it, and its children stand below it', () => {
  const steps = [
    step('s:000001', { at: 30 }),
    step('s:000002/0', {
      kind: 'child',
      name: 'step 2: machine 1',
      child: 'c',
      state: 'running',
      began: 31,
      at: 31,
    }),
  ];
  const run = { ...RUN, current: 'fan', step: 2 };
  const rows = rowsOf(run, new Map([['r', steps]]), NOTHING);
  assert.deepEqual(shown(rows), ['s:000001', 's:000002 ▾', '  s:000002/0 ▸']);
  assert.equal(rows[2]?.name, 'fan: machine 1');
  assert.deepEqual([rows[1]?.name, rows[1]?.from, rows[1]?.until, rows[1]?.of], ['fan', 30, undefined, undefined]);
  const later = rowsOf(
    run,
    new Map([['r', [...steps, step('s:000002', { name: 'fan', began: 30, at: 90 })]]]),
    NOTHING,
  );
  assert.deepEqual([later.length, later[1]?.until], [3, 90]);
  assert.deepEqual(rowsOf({ ...run, state: 'completed' }, new Map(), NOTHING), []);
});

test('a wait that goes on has a row; one for children has none', () => {
  const waits = [
    { task: 'r', kind: 'approval', key: 's:000002/w', since: 40, title: 'Publish?' },
    { task: 'r', kind: 'children', key: 's:000003', since: 40 },
    { task: 'other', kind: 'signal', key: 'w', since: 40, channel: 'x' },
  ];
  const rows = rowsOf({ ...RUN, state: 'waiting', waits }, new Map(), NOTHING);
  assert.deepEqual(
    rows.map(({ name, tone, until }) => [name, tone, until]),
    [['Publish?', 'waiting', undefined]],
  );
});

test('a child ends when the node says so, or else with the step that has waited for it', () => {
  const child = step('s:000002/0', { kind: 'child', child: 'c', state: 'completed', began: 21, at: 21 });
  const until = (...steps: readonly Step[]): number | undefined =>
    rowsOf(RUN, new Map([['r', steps]]), NOTHING).find(({ kind }) => kind === 'child')?.until;
  assert.equal(until({ ...child, ended: 44 }), 44);
  assert.equal(until(child, step('s:000002', { at: 60 })), 60);
  assert.equal(until({ ...child, state: 'running' }), undefined);
});

test('a row is in the states that it names and that it has passed, of the run alone', () => {
  const [row] = rowsOf(RUN, new Map([['r', [step('s:000001', { name: 'work', via: ['check'] })]]]), NOTHING);
  assert.ok(row !== undefined);
  assert.deepEqual(
    ['work', 'check', 'other'].map((state) => isIn(row, 'r', state)),
    [true, true, false],
  );
  assert.equal(isIn({ ...row, task: 'child' }, 'r', 'work'), false);
});

test('what goes on has taken the time until now', () => {
  const [row] = rowsOf({ ...RUN, current: 'a', step: 1 }, new Map(), NOTHING);
  assert.ok(row !== undefined);
  assert.deepEqual([tookOf(row, 110), tookOf({ ...row, until: 60 }, 110), tookOf(row, 0)], [100, 50, 0]);
});

test('work is what was done: no waits, and the parts of a step instead of the step', () => {
  const steps = [
    step('attempt:1', { kind: 'attempt', state: 'running', began: 5, at: 5 }),
    step('s:000001', { began: 10, at: 20 }),
    step('s:000002', { began: 20, at: 90 }),
    step('s:000002/w', { kind: 'wait', began: 21, at: 80 }),
    step('s:000002/0', { kind: 'child', child: 'c', state: 'completed', began: 82, at: 82 }),
  ];
  const run = { ...RUN, state: 'waiting', current: 'ask', step: 3 };
  const rows = rowsOf(run, new Map([['r', steps]]), NOTHING);
  assert.deepEqual(
    workIn(rows).map(({ key }) => key),
    ['s:000001', 's:000002/0'],
  );
  assert.deepEqual(
    rows.filter((row) => !hasDetail(row)).map(({ key, until }) => [key, until]),
    [
      ['attempt:1', undefined],
      ['s:000003', undefined],
    ],
  );
});

test('the rows of ten thousand steps come in a moment', () => {
  const steps = Array.from({ length: 10_000 }, (_, i) =>
    step(`s:${String(i).padStart(6, '0')}`, { began: i, at: i + 1 }),
  );
  assert.equal(rowsOf(RUN, new Map([['r', steps]]), NOTHING).length, 10_000);
});

test('beside the name of a step of a machine stands its number, beside anything else what it is', () => {
  const beside = (kind: string, key: string): string => besideName({ kind, key });
  assert.equal(beside('step', 's:000007'), '7');
  assert.equal(beside('step', 's:012345'), '12,345');
  assert.equal(beside('step', 'fetch'), '');
  assert.equal(beside('child', 's:000007/0'), 'child');
});
