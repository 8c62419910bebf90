import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graphOf, runGraph, workflow } from './test-graphs.ts';

const ITEMS = [
  { n: 1, path: '/tmp/a b' },
  { n: 2, path: '-x' },
];

/** What the tasks of a node of this type are given, and what it gives for these results. */
function tasksOf(node: object, result: unknown = null, settings: object = {}): readonly [readonly unknown[], unknown] {
  const nodes = { data: { typeId: 'hardwired', data: { json: JSON.stringify(ITEMS) } }, n: { kind: 'map', ...node } };
  const ran = runGraph(graphOf(workflow(nodes, ['data>n'], { settings })), () => result);
  return [ran.began[1]?.[1] ?? [], ran.outputs.get('n')?.kept[0]?.['n'] ?? ran.end];
}

test('a node "http" is a request of the handler http, and its answer is read as JSON where it is some', () => {
  const data = {
    url: 'http://x/{{ $.data.n }}',
    method: 'post',
    timeout: 3,
    headers: [{ name: 'X-A', value: '{{ $.data.n }}' }],
    body_mode: 'fields',
    body_fields: [
      { name: 'n', value: '{{ $.data.n }}' },
      { name: 'list', value: '[1]' },
      { name: 'text', value: 'a' },
    ],
  };
  const answer = { status: 200, headers: {}, body: '{"ok":true}', encoding: 'text', truncated: false };
  const [inputs, output] = tasksOf({ typeId: 'http', data }, answer);
  assert.deepEqual(inputs[0], {
    url: 'http://x/1',
    method: 'POST',
    headers: { 'X-A': '1' },
    body: { n: 1, list: [1], text: 'a' },
    timeout_ms: 3000,
  });
  assert.deepEqual(output, { ...answer, body: { ok: true } });
  assert.deepEqual(tasksOf({ typeId: 'http', data: { url: 'http://x' } }, { ...answer, body: 'text' }), [
    [{ url: 'http://x' }, { url: 'http://x' }],
    { ...answer, body: 'text' },
  ]);
});

test('a body that is not the JSON that it should be fails the node', () => {
  const json = (json_body: unknown) =>
    tasksOf({ typeId: 'http', data: { url: 'http://x', body_mode: 'json', json_body } });
  assert.deepEqual(json('{"n": {{ $.data.n }}}')[0][1], { url: 'http://x', body: { n: 2 } });
  assert.deepEqual(json('{')[1], {
    do: 'fail',
    failure: { node: 1, type: 'NodeDataError', message: '"json_body" is not JSON' },
  });
});

test('a node "append_to_file" gives data to the shell as arguments only', () => {
  const data = { filepath: '{{ $.data.path }}', content: '$(boom) {{ $.data.n }}' };
  const [inputs, output] = tasksOf({ typeId: 'append_to_file', data });
  const line = 'mkdir -p -- "$(dirname -- "$1")" && cat >> "$1"';
  assert.deepEqual(inputs, [
    { argv: ['/bin/sh', '-c', line, 'sh', '/tmp/a b'], stdin: '$(boom) 1\n' },
    { argv: ['/bin/sh', '-c', line, 'sh', './-x'], stdin: '$(boom) 2\n' },
  ]);
  assert.deepEqual(output, { written: true, filepath: '/tmp/a b' });
  const [within] = tasksOf({ typeId: 'append_to_file', data }, null, { dataDirectory: '/data' });
  assert.deepEqual((within[1] as { argv: string[] }).argv.at(-1), '/data/-x');
});

test('a node "run_command" is a command of the handler shell', () => {
  const data = { argv: ['echo', '{{ $.data.path }}'], workingDirectory: '/tmp', env: { N: '{{ $.data.n }}' } };
  const [inputs, output] = tasksOf({ typeId: 'system/run_command', data }, { exitCode: 0, stdout: 'x' });
  assert.deepEqual(inputs[0], { argv: ['echo', '/tmp/a b'], cwd: '/tmp', env: { N: '1' } });
  assert.deepEqual(output, { exitCode: 0, stdout: 'x', success: true });
});
