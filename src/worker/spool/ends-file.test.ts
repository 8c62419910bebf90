import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { EndsFile, type EndsFileOptions } from './ends-file.ts';

const FOLDER = tempFolder('ends-file');
let files = 0;

function open(options: Partial<EndsFileOptions> = {}) {
  const path = join(FOLDER, String(++files));
  return { path, file: new EndsFile({ path, head: 'head', ...options }), lines: () => linesOf(path) };
}

const linesOf = (path: string): readonly string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);

test('a line is in the file when the call returns, after the head, and one that is dropped is said to be gone', () => {
  const { path, file, lines } = open();
  assert.equal(statSync(path, { throwIfNoEntry: false }), undefined, 'nothing is made before it is needed');
  file.put('a', 'one', false);
  file.put('b', 'two', true);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual([lines(), file.count], [['head', 'one', 'two'], 2]);
  file.drop('a');
  file.drop('a');
  file.drop('c');
  assert.deepEqual([lines(), file.count], [['head', 'one', 'two', '{"gone":"a"}'], 1]);
  file.drop('b');
  assert.deepEqual([lines(), file.count], [['head'], 0], 'what was heard is not kept');
  file.put('c', 'three', false);
  assert.deepEqual(lines(), ['head', 'three']);
});

test('the same under the same key is not written again, and another takes its place', () => {
  const { file, lines } = open();
  for (let i = 0; i < 3; i++) file.put('a', 'öne', i === 2);
  assert.deepEqual(lines(), ['head', 'öne']);
  file.put('a', 'two!', false);
  assert.deepEqual([lines(), file.count], [['head', 'öne', 'two!'], 1]);
});

test('what it may hold is bounded, and what is dropped makes room', () => {
  const { file } = open({ maxBytes: 100 });
  assert.equal(file.put('a', 'x'.repeat(60), false), true);
  assert.equal(file.put('b', 'x'.repeat(60), false), false);
  assert.equal(file.count, 1);
  file.drop('a');
  assert.equal(file.put('b', 'x'.repeat(60), false), true);
});

test('a file of which most is gone is written anew, and goes on', () => {
  const { path, file, lines } = open({ tidyBytes: 500 });
  file.put('stays', 's'.repeat(40), false);
  for (let i = 0; i < 1000; i++) {
    file.put(`k${i}`, `${i} `.padEnd(50, 'x'), false);
    file.drop(`k${i}`);
    assert.ok(statSync(path).size < 1000, `${statSync(path).size} bytes after ${i}`);
  }
  file.put('last', 'l', false);
  file.put('stays', 's'.repeat(40), false);
  const found = lines();
  assert.equal(found[0], 'head');
  assert.equal(found.filter((line) => line === 's'.repeat(40)).length, 1, 'it is known where it stands now');
  assert.equal(found.at(-1), 'l');
  assert.equal(statSync(`${path}.new`, { throwIfNoEntry: false }), undefined);
  file.drop('last');
  file.close();
});
