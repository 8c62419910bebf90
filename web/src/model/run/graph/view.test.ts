import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutGraph } from './layout.ts';
import { NodeIndex } from './spatial.ts';
import { countStates, nodeCaption, progressOf, progressOfGraph, wordOfNode } from './standing.ts';
import { fit, seen, showing, within, zoomAt } from './viewport.ts';
import { stepFrom } from './walk.ts';

const BOX = { width: 1_000, height: 400 };

test('a drawing that is larger than its box is made smaller, and a small one is not enlarged', () => {
  assert.deepEqual(fit({ width: 4_000, height: 400 }, BOX), { x: 0, y: 150, scale: 0.25 });
  assert.deepEqual(fit({ width: 100, height: 100 }, BOX), { x: 450, y: 150, scale: 1 });
});

test('what is under the pointer stays there while the drawing is zoomed', () => {
  const view = { x: 30, y: -20, scale: 0.5 };
  const at = { x: 200, y: 100 };
  const to = zoomAt(view, 2, at);
  assert.equal(to.scale, 1);
  assert.deepEqual((at.x - to.x) / to.scale, (at.x - view.x) / view.scale);
  assert.deepEqual((at.y - to.y) / to.scale, (at.y - view.y) / view.scale);
});

test('a drawing is never moved out of sight', () => {
  const drawing = { width: 500, height: 300 };
  assert.deepEqual(within({ x: 5_000, y: -5_000, scale: 1 }, drawing, BOX), { x: 940, y: -240, scale: 1 });
});

test('a node that is in view leaves the view as it is, and another is brought to the middle', () => {
  const view = { x: 0, y: 0, scale: 1 };
  assert.deepEqual(showing(view, { x: 100, y: 100, width: 50, height: 50 }, BOX), view);
  assert.deepEqual(showing(view, { x: 3_000, y: 100, width: 50, height: 50 }, BOX), { x: 500 - 3_025, y: 0, scale: 1 });
});

test('the nodes of a part are found, in their order, and too many are none', () => {
  const layout = layoutGraph(
    Array.from({ length: 100 }, (_, i) => ({ id: String(i), x: (i % 10) * 300, y: Math.floor(i / 10) * 100 })),
    [],
  );
  const index = new NodeIndex(layout);
  const part = seen({ x: -600, y: -200, scale: 1 }, { width: 300, height: 100 }, 0);
  const all = index.within(part);
  const expected = layout.nodes.flatMap(({ x, y }, i) =>
    x <= part.x + part.width && x + 172 >= part.x && y <= part.y + part.height && y + 54 >= part.y ? [i] : [],
  );
  assert.ok(expected.length > 0);
  assert.deepEqual(all, expected);
  assert.equal(index.within(part, expected.length - 1), undefined);
  const { x = 0, y = 0 } = layout.nodes[57] ?? {};
  assert.equal(index.at(x + 10, y + 10), 57);
  assert.equal(index.within({ x: -1e9, y: -1e9, width: 2e9, height: 2e9 })?.length, 100);
});

test('arrows follow connections, and lead up and down to the nearest node', () => {
  const layout = layoutGraph(
    [
      { id: 'start', x: 0, y: 0 },
      { id: 'up', x: 300, y: -100 },
      { id: 'down', x: 300, y: 100 },
      { id: 'end', x: 600, y: 0 },
    ],
    [
      { from: 0, to: 1 },
      { from: 0, to: 2 },
      { from: 1, to: 3 },
      { from: 2, to: 3 },
    ],
  );
  assert.equal(stepFrom(layout, undefined, 'right'), 0);
  assert.equal(stepFrom(layout, 0, 'right'), 1);
  assert.equal(stepFrom(layout, 1, 'down'), 2);
  assert.equal(stepFrom(layout, 2, 'right'), 3);
  assert.equal(stepFrom(layout, 3, 'left'), 1);
  assert.equal(stepFrom(layout, 0, 'left'), 0);
});

test('a node says how many of its tasks have ended while it runs, and then how many items it gave', () => {
  const tasks = { all: 500, ended: 20, running: 4, failed: 0 };
  assert.equal(nodeCaption({ state: 'running', tasks }, 'echo', false), '20 of 500 tasks');
  assert.equal(progressOf({ state: 'running', tasks }), 0.04);
  assert.equal(nodeCaption({ state: 'done', kept: 1 }, 'echo', false), '1 item');
  assert.equal(nodeCaption({ state: 'done', kept: 3, rejected: 2 }, 'if', false), '3 / 2 items');
  assert.equal(nodeCaption({ state: 'done', kept: 2 }, 'echo', true), '2 items pinned');
  assert.equal(nodeCaption({ state: 'waiting' }, 'echo', false), 'echo');
});

test('nodes that wait were not reached once the run is over, and nodes outside the run do not count', () => {
  assert.equal(wordOfNode('waiting', true), 'not reached');
  assert.equal(wordOfNode('waiting'), 'waiting');
  const counts = countStates([{ state: 'done' }, { state: 'skipped' }, { state: 'waiting' }, { state: 'outside' }]);
  assert.deepEqual(progressOfGraph(counts), { over: 2, all: 3 });
});
