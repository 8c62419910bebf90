import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Tail } from './tail.ts';

test('whatever the chunks, it holds the last bytes of all of them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 40 })),
      fc.integer({ min: 1, max: 30 }),
      (chunks, limit) => {
        const tail = new Tail(limit);
        for (const chunk of chunks) tail.push(Buffer.from(chunk));
        const all = chunks.join('');
        assert.equal(tail.text(), all.slice(-limit));
        assert.equal(tail.cut, all.length > limit);
      },
    ),
    { seed: 64 },
  );
});

test('a character that was cut in two is left out', () => {
  const tail = new Tail(5);
  tail.push(Buffer.from('aé😀b'));
  assert.equal(tail.text(), '😀b');
  tail.push(Buffer.from('c'));
  assert.equal(tail.text(), 'bc');
});

test('its text can be stored', () => {
  const tail = new Tail(10);
  tail.push(Buffer.from([0x61, 0, 0xff, 0x62]));
  assert.equal(tail.text(), 'a\uFFFD\uFFFDb');
});

test('it gives the last lines, with or without a newline at the end', () => {
  const tail = new Tail(100);
  assert.deepEqual(tail.lines(2), []);
  tail.push(Buffer.from('a\nb\nc\n'));
  assert.deepEqual(tail.lines(2), ['b', 'c']);
  tail.push(Buffer.from('d'));
  assert.deepEqual(tail.lines(2), ['c', 'd']);
});
