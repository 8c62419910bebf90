import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseInline, readInputs } from './push-inputs.ts';

async function* chunks(...texts: readonly string[]): AsyncGenerator<string> {
  yield* texts;
}

async function read(texts: readonly string[], most = 1000): Promise<readonly (readonly unknown[])[]> {
  return Array.fromAsync(readInputs(chunks(...texts), { name: 'standard input', most }));
}

test('one JSON value a line gives as many inputs, wherever the chunks are cut', async () => {
  assert.deepEqual(await read(['{"a":1}\n{"a":2}\n\n3']), [[{ a: 1 }, { a: 2 }], [3]]);
  assert.deepEqual((await read(['{"a"', ':1}\n{"a":', '2}\n'])).flat(), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(await read(['\ufeff\n1\r\n2\r\n']), [[1, 2]]);
});

test('a text of several lines that is one JSON value is one input', async () => {
  const value = { list: [1, 2], text: 'a\nb' };
  const pretty = JSON.stringify(value, undefined, 2);
  assert.deepEqual(await read([pretty]), [[value]]);
  assert.deepEqual(await read(pretty.split('')), [[value]], 'letter by letter');
  assert.deepEqual(await read(['[1,\n2]\n']), [[[1, 2]]]);
});

test('lines come in groups that are not too large', async () => {
  assert.deepEqual(await read(['1\n2\n3\n4\n5\n'], 2), [[1, 2], [3, 4], [5]]);
});

test('what is not JSON is refused by its line, and nothing is not an input', async () => {
  await assert.rejects(read(['1\n2\nx\n']), /line 3 of standard input is not valid: it is not JSON/);
  await assert.rejects(read(['1\n2\n{']), /line 3 of standard input/);
  await assert.rejects(read(['{"a":\n']), /The standard input is not valid: it is not JSON/);
  await assert.rejects(read(['\n \n']), /it is empty/);
  await assert.rejects(read([]), /it is empty/);
  await assert.rejects(read([`"${'x'.repeat(5_000_000)}`]), /too large/);
});

test('an input on the command line that is not JSON is explained', () => {
  assert.deepEqual(parseInline('{"a":1}'), { a: 1 });
  assert.throws(() => parseInline('{a:1}'), { hint: /Quote it for the shell/ });
});
