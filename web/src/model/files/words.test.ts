import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseName, confirmWord, sizeText, usageText } from './words.ts';

test('sizes are told in the unit that people read', () => {
  const told: readonly (readonly [number, string])[] = [
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1.0 kB'],
    [4_230, '4.2 kB'],
    [9_960, '10 kB'],
    [262_144, '262 kB'],
    [999_600, '1.0 MB'],
    [2 ** 31, '2.1 GB'],
    [5e12, '5.0 TB'],
    [5e15, '5,000 TB'],
  ];
  for (const [bytes, text] of told) assert.equal(sizeText(bytes), text);
});

test('what artifacts take is one line', () => {
  assert.equal(usageText({ entries: 1, bytes: 1 }), '1 artifact, 1 byte');
  assert.equal(usageText({ entries: 12_345, bytes: 1e9 }), '12,345 artifacts, 1.0 GB');
});

test('an artifact is confirmed by the end of its name, or by its id where that cannot be typed', () => {
  const id = `art_${'0'.repeat(24)}12345678`;
  assert.equal(baseName('out/deep/report.json'), 'report.json');
  assert.equal(confirmWord({ id, name: 'out/report.json' }), 'report.json');
  for (const name of ['<img src=x>', '报告.pdf', 'a b', `${'x'.repeat(41)}`, 'a\u202egpj.exe'])
    assert.equal(confirmWord({ id, name }), '12345678', name);
});
