import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PANELS } from '../lists.ts';
import { type LayoutInput, layOutPanels } from './layout.ts';

const ROWS = { queues: 3, workers: 2, tasks: 10, limits: 0, events: 100 };
const room = (more: Partial<LayoutInput>): LayoutInput => ({
  columns: 80,
  lines: 30,
  focus: 'queues',
  rows: ROWS,
  ...more,
});
const total = (rows: readonly { readonly height: number }[]): number =>
  rows.reduce((sum, { height }) => sum + height, 0);

test('whatever the size and the focus, the lines are used up exactly and every panel keeps its title', () => {
  for (const focus of PANELS)
    for (const columns of [20, 60, 110, 300])
      for (let lines = 0; lines <= 120; lines += 1) {
        const rows = layOutPanels(room({ focus, columns, lines }));
        assert.equal(total(rows), lines, `${focus} ${columns}x${lines}`);
        if (lines < 8) assert.deepEqual(rows[0]?.panels, [focus]);
        else assert.equal(rows.flatMap(({ panels }) => panels).length, PANELS.length);
        if (lines >= 8) for (const { height } of rows) assert.ok(height >= 1);
      }
});

test('on a low terminal the panel in focus shows rows before any other one does', () => {
  for (const focus of PANELS) {
    const rows = layOutPanels(room({ focus, lines: 8, rows: { ...ROWS, limits: 2 } }));
    const heights = new Map(rows.map(({ panels, height }) => [panels[0], height]));
    assert.ok((heights.get(focus) ?? 0) >= 3, focus);
    for (const panel of PANELS) if (panel !== focus) assert.ok((heights.get(panel) ?? 0) <= 2, `${focus}: ${panel}`);
  }
});

test('a wide terminal has panels beside each other', () => {
  assert.deepEqual(
    layOutPanels(room({ columns: 140 })).map(({ panels }) => panels),
    [['queues', 'workers'], ['tasks'], ['limits', 'events']],
  );
});

test('where there is room for all rows, all are shown, and the tail of events has what is left', () => {
  const rows = layOutPanels(room({ lines: 60 }));
  assert.deepEqual(
    rows.map(({ height }) => height),
    [5, 4, 12, 2, 37],
  );
});
