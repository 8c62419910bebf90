import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { place } from './cli-calls.ts';

test('eval says what a condition gives, in each language', async (t) => {
  const { call } = place(t);
  const scope = JSON.stringify({ context: { tries: 2, items: [1, 2] }, input: { name: 'Ann' } });
  const ask = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await call(['eval', ...args, '--context', scope]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  assert.equal(await ask('context.tries < 3 and input.name == "Ann"'), true);
  assert.equal(await ask('context.items.all(n, n > 0) && output == {}', '--engine', 'cel'), true);
  assert.deepEqual(await ask('{{ context.items }}', '--engine', 'template', '--json'), [1, 2]);
});

test('eval of an expression that is wrong says where, and ends with 1', async (t) => {
  const { call } = place(t);
  const { code, stdout, stderr } = await call(['eval', 'context.a ==']);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /column 13: expected a value, found the end/);
  const hostile = await call(['eval', '--engine', 'template', '{{ range(1000000000) }}']);
  assert.equal(hostile.code, 1);
  assert.match(hostile.stderr, /more than 100000 steps/);
  assert.equal((await call(['eval'])).code, 2);
  assert.equal((await call(['eval', '1', '--engine', 'js'])).code, 2);
  assert.equal((await call(['eval', '1', '--context', '[1]'])).code, 2);
});

test('eval --batch answers one question a line, also those that are wrong', async (t) => {
  const { call, cwd } = place(t);
  const questions = [
    { expr: 'context.n + 1', context: { context: { n: 1 } } },
    { expr: 'size(input.list)', engine: 'cel', context: { input: { list: [1, 2] } } },
    { expr: 'Hi {{ input.who }}', engine: 'template', context: { input: { who: 'Bo' } } },
    { expr: '1 +' },
    { expr: 1 },
    { expr: '1', engine: 'js' },
  ];
  const lines = `${questions.map((one) => JSON.stringify(one)).join('\n')}\nnot json\n`;
  writeFileSync(join(cwd, 'questions'), lines);
  const { code, stdout } = await call(['eval', '--batch', 'questions']);
  assert.equal(code, 0);
  assert.equal((await call(['eval', '--batch', '-'], lines)).stdout, stdout);
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { value?: unknown; error?: string });
  assert.deepEqual(answers.slice(0, 3), [{ value: 2 }, { value: 2 }, { value: 'Hi Bo' }]);
  assert.deepEqual(
    answers.slice(3).map(({ error }) => /column 4|a question is|engine is|not JSON/.exec(error ?? '')?.[0]),
    ['column 4', 'a question is', 'engine is', 'not JSON'],
  );
});

test('render prints the text of a template', async (t) => {
  const { call } = place(t);
  const { stdout } = await call(['render', 'Hello {{ input.name }}!', '--context', '{"input": {"name": "Ann"}}']);
  assert.equal(stdout, 'Hello Ann!\n');
  assert.equal((await call(['render', '{{ [1, 2] }}'])).stdout, '[1,2]\n');
  assert.equal((await call(['render', '{{ "12" }}', '--json'])).stdout, '"12"\n');
  assert.equal((await call(['render', '{% if %}'])).code, 1);
});
