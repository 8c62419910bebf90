import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MOST_DEEP, measure, tooMuch } from './measure.ts';
import { readGraph } from './read-graph.ts';
import { graphOf, runGraph, workflow } from './test-graphs.ts';

const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

test('a value is as deep as its parts, and about as long as its JSON', () => {
  assert.deepEqual(measure('abc'), { depth: 0, length: 5 });
  assert.equal(measure({ a: [1, { b: 'x' }] }).depth, 3);
  const value = { name: 'x'.repeat(1000), list: Array.from({ length: 100 }, () => 'abc') };
  const { length } = measure(value);
  assert.ok(Math.abs(length - JSON.stringify(value).length) < 20, String(length));
});

test('a value that is too deep is said to be, however deep it is', () => {
  assert.equal(tooMuch(nested(MOST_DEEP)), undefined);
  assert.match(tooMuch(nested(MOST_DEEP + 1)) ?? '', /more than 48 deep/);
  assert.match(tooMuch(nested(100_000)) ?? '', /more than 48 deep/);
});

/** Each node makes ten times as much of what came. */
function growing(fields: object): object {
  const ids = Array.from({ length: 30 }, (_, i) => `n${i}`);
  const ten = (id: string) => `{{ [${Array.from({ length: 10 }, () => `$.${id}`).join(', ')}] }}`;
  const nodes = ids.map((id, i) => [
    id,
    { typeId: 'transform', data: { expression: i === 0 ? 'x' : ten(ids[i - 1] as string) } },
  ]);
  return workflow({ ...Object.fromEntries(nodes), last: fields as never }, [
    ...ids.slice(1).map((id, i) => `${ids[i]}>${id}`),
    `${ids.at(-1)}>last`,
  ]);
}

test('parts that are shared count each time: a chain that grows tenfold fails at the node where it is too much', () => {
  const ran = runGraph(graphOf(growing({ typeId: 'set', data: { fields: [] } })));
  assert.ok(ran.end?.do === 'fail');
  assert.equal(ran.end.failure.type, 'NodeDataError');
  assert.match(ran.end.failure.message, /more than 4000000 characters/);
  assert.ok(ran.end.failure.node < 8, String(ran.end.failure.node));
});

test('an expression that would write too much fails before it does', () => {
  const item = Array.from({ length: 100 }, () => '$').join(', ');
  const nodes = {
    big: { typeId: 'transform', data: { expression: '{{ $.start.text }}' } },
    write: { typeId: 'transform', data: { expression: `{{ ("" + [${item}]).length }}` } },
  };
  const graph = graphOf(workflow({ start: { typeId: 'start' }, ...nodes }, ['start>big', 'big>write']));
  const ran = runGraph(graph, undefined, { input: { text: 'x'.repeat(900_000) } });
  assert.ok(ran.end?.do === 'fail');
  assert.equal(ran.end.failure.type, 'ExpressionError');
});

test('what is too deep in a workflow is a problem of its place', () => {
  const problems = (node: object): readonly string[] =>
    readGraph(workflow({ n: node as never }, [])).problems.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const wrong = 'it is nested more than 48 deep';
  assert.deepEqual(problems({ typeId: 'mine', data: { a: nested(5000) } }), [`nodes.0.data: ${wrong}`]);
  assert.deepEqual(problems({ typeId: 'hardwired', data: { json: '['.repeat(5000) + ']'.repeat(5000) } }), [
    `nodes.0.data.json: ${wrong}`,
  ]);
  assert.deepEqual(problems({ typeId: 'mine', pinned: true, pinnedOutput: [{ a: nested(5000) }] }), [
    `nodes.0.pinnedOutput: ${wrong}`,
  ]);
});
