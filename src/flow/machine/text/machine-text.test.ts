import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../../core/errors.ts';
import { parseMachineText } from './machine-text.ts';

const refused = (text: string): string => {
  try {
    parseMachineText(text, 'm.yml');
  } catch (error) {
    assert.ok(isEngineError(error), String(error));
    return error.message;
  }
  throw new Error('it is not refused');
};

test('YAML and JSON are read, and each field has its line', () => {
  const { value, lineOf } = parseMachineText(
    'spec: flatmachine\ndata:\n  states:\n    a:\n      type: final\n',
    'm.yml',
  );
  assert.deepEqual(value, { spec: 'flatmachine', data: { states: { a: { type: 'final' } } } });
  assert.equal(lineOf(['spec']), 1);
  assert.equal(lineOf(['data', 'states', 'a', 'type']), 5);
  assert.equal(lineOf(['data', 'states', 'a', 'transitions', 0, 'to']), 5, 'the nearest that is there');
  assert.deepEqual(parseMachineText('{"a": [1, null, true, "x"]}', 'm.json').value, { a: [1, null, true, 'x'] });
});

test('words of YAML 1.1 and times are texts, as in JSON', () => {
  const { value } = parseMachineText('a: yes\nb: off\nc: 2026-01-01\nd: 0o14\ne: 1_000\nf: ~\n', 'm.yml');
  assert.deepEqual(value, { a: 'yes', b: 'off', c: '2026-01-01', d: 12, e: '1_000', f: null });
});

test('what is no YAML is refused with its line', () => {
  assert.match(refused('a: 1\nb: [1, 2\n'), /m\.yml is not valid: line \d+: /);
  assert.match(refused('a: 1\nb: 2\na: 3\n'), /line 3: Map keys must be unique/);
  assert.match(refused('a: !!js/function "x"\n'), /line 1: (?:column \d+: )?Unresolved tag/);
  assert.match(refused('a: 1\n---\nb: 2\n'), /line/);
});

test('a bomb of aliases is refused', () => {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `l${i + 1}: &l${i + 1} [${Array.from({ length: 9 }, () => `*l${i}`).join(', ')}]`,
  );
  assert.match(refused(['l0: &l0 [x]', ...levels].join('\n')), /alias/i);
});

test('nesting is refused before it costs anything', () => {
  for (const text of ['['.repeat(100_000), '{a: '.repeat(50_000), '- '.repeat(50_000), '? '.repeat(50_000)]) {
    assert.match(refused(text), /nested more than 64 deep/);
  }
  const deep = `${'{"a": '.repeat(70)}1${'}'.repeat(70)}`;
  assert.match(refused(deep), /nested more than 64 deep/);
});

test('a text that is too long is refused', () => assert.match(refused(`a: ${'x'.repeat(300_000)}`), /262144/));

test('a key named like a property of JavaScript is only a key', () => {
  const { value } = parseMachineText('__proto__: {polluted: 1}\nconstructor: 2\n', 'm.yml');
  assert.deepEqual(Object.keys(value as object), ['__proto__', 'constructor']);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('text that is no YAML is refused with its line and column', () => {
  assert.match(refused('a: [1, 2\nb: 3\n'), /line 2: column 1: Flow sequence/);
  assert.match(refused('a: 1\n\tb: 2\n'), /line 2: column 1: lines are indented by spaces, not by tabs/);
  assert.match(refused('a: 1\n---\nb: 2\n'), /line 2: column 1: a file has one machine/);
});

test('YAML that JSON cannot say is refused with its line', () => {
  assert.match(refused('a: 1\nb: !!set {x, y}\n'), /line 2: (?:column \d+: )?Unresolved tag/);
  assert.match(refused('a: !!binary aGk=\n'), /line 1: (?:column \d+: )?Unresolved tag/);
  assert.match(refused('a: !!timestamp 2026-01-01\n'), /line 1: (?:column \d+: )?Unresolved tag/);
  assert.match(refused('a: 1\n? [1, 2]\n: b\n'), /line 2: a key is a text/);
  assert.match(refused('a: .inf\n'), /is no number that JSON can say/);
  assert.match(refused('a: 1e400\n'), /1e400 is no number/);
  assert.match(refused('a: &a {b: *a}\n'), /nested more than 64 deep/);
  assert.match(refused('a: &a [*a]\n'), /nested more than 64 deep/);
});

test('anchors and merge keys are read as PyYAML reads them, and texts over several lines', () => {
  const { value } = parseMachineText(
    'base: &base {type: retry, backoffs: [1]}\na: *base\nb: {<<: *base, type: default}\nc: |\n  x\n  y\nd: >-\n  u\n  v\n',
    'm.yml',
  );
  assert.deepEqual(value, {
    base: { type: 'retry', backoffs: [1] },
    a: { type: 'retry', backoffs: [1] },
    b: { type: 'default', backoffs: [1] },
    c: 'x\ny\n',
    d: 'u v',
  });
  assert.deepEqual(parseMachineText('on: 1\nyes: no\non_error: off\n', 'm.yml').value, {
    on: 1,
    yes: 'no',
    on_error: 'off',
  });
});

test('a bomb of merge keys is refused', () => {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `l${i + 1}: &l${i + 1} {${Array.from({ length: 9 }, (_one, j) => `k${j}: {<<: *l${i}}`).join(', ')}}`,
  );
  assert.match(refused(['l0: &l0 {x: 1}', ...levels].join('\n')), /alias/i);
});

test('many keys and many states are read, each key looked at once', () => {
  const text = `a:\n${Array.from({ length: 12_000 }, (_, i) => `  s${i}: {}`).join('\n')}\n`;
  assert.equal(Object.keys((parseMachineText(text, 'm.yml').value as { a: object }).a).length, 12_000);
  assert.match(refused(`${text}  s7: {}\n`), /line 12002: Map keys must be unique/);
  assert.match(refused('s: {}\n'.repeat(100_000)), /262144/);
});

test('JSON is read as YAML is: lines, keys that come twice, numbers without end', () => {
  const text = `{
    "nodes": [
      { "id": "a, \\"{b", "data": { "x": [1, { "y": "]" }] } },
      { "id": "c",
        "next": null }
    ],
    "name": "n"
  }`;
  const { value, lineOf } = parseMachineText(text, 'm.json');
  assert.deepEqual(value, JSON.parse(text));
  assert.deepEqual(
    [
      [],
      ['nodes'],
      ['nodes', 0, 'data', 'x', 1, 'y'],
      ['nodes', 1],
      ['nodes', 1, 'next'],
      ['nodes', 1, 'none'],
      ['nodes', 7],
      ['name'],
      ['name', 'x'],
      ['other'],
    ].map(lineOf),
    [1, 2, 3, 4, 5, 4, 2, 7, 7, 1],
  );
  assert.match(refused('{"a": {"b": 1,\n"c": {"b": 2}, "b": 3}}'), /line 2: Map keys must be unique/);
  assert.match(refused('{"a":\n[1, -1e999]}'), /line 2: -1e999 is no number that JSON can say/);
  assert.deepEqual(Object.keys(parseMachineText('{"__proto__": 1}', 'm').value as object), ['__proto__']);
});

test('a graph of 10,000 nodes is read as JSON, and each of its fields has its line', () => {
  const nodes = Array.from({ length: 10_000 }, (_, i) => ({ id: `node-${i}`, typeId: 'core/set', data: { i } }));
  const connections = nodes.slice(1).map(({ id }, i) => ({ sourceNodeId: `node-${i}`, targetNodeId: id }));
  const text = JSON.stringify({ nodes, connections }, undefined, 1);
  assert.ok(text.length > 1_000_000);
  const { value, lineOf } = parseMachineText(text, 'm.json');
  assert.deepEqual(value, { nodes, connections });
  const line = text.slice(0, text.indexOf('"node-9999"')).split('\n').length;
  assert.equal(lineOf(['nodes', 9999, 'id']), line);
  assert.match(refused(text.slice(0, -2)), /the limit in bytes is 262144/);
  assert.match(refused(`"${'x'.repeat(5_000_000)}"`), /4194304/);
});
