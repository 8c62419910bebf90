import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonOfText, MOST_PICTURE, previewOfFile, textOfBytes } from './preview.ts';

test('texts, JSON and pictures of pixels are shown', () => {
  const as = (type: string): string => previewOfFile({ type, size: 10 }).as;
  assert.equal(as('text/plain'), 'text');
  assert.equal(as('Text/Plain; charset=utf-8'), 'text');
  assert.equal(as('application/json'), 'json');
  for (const type of ['image/png', 'image/jpeg', 'image/gif', 'image/webp']) assert.equal(as(type), 'picture');
});

test('nothing that a browser could run is shown, whatever it says that it is', () => {
  for (const type of [
    'text/html',
    'image/svg+xml',
    'application/xhtml+xml',
    'text/xml',
    'application/pdf',
    'text/css',
    'text/javascript',
    'application/octet-stream',
    'text/plainx',
    'x text/plain',
    'text/html;text/plain',
    '',
  ])
    assert.equal(previewOfFile({ type, size: 10 }).as, 'nothing', type);
});

test('what is empty is not fetched, and a picture that is too large neither', () => {
  assert.deepEqual(previewOfFile({ type: 'text/plain', size: 0 }), { as: 'nothing', why: 'It is empty.' });
  assert.equal(previewOfFile({ type: 'image/png', size: MOST_PICTURE }).as, 'picture');
  assert.equal(previewOfFile({ type: 'image/png', size: MOST_PICTURE + 1 }).as, 'nothing');
  assert.equal(previewOfFile({ type: 'text/plain', size: 1e12 }).as, 'text', 'of a text the beginning is shown');
});

test('a letter that was cut through is left out, and bytes that are no text do no harm', () => {
  const bytes = new TextEncoder().encode('bees é');
  assert.equal(textOfBytes(bytes, false), 'bees é');
  assert.equal(textOfBytes(bytes.subarray(0, -1), true), 'bees ');
  assert.equal(textOfBytes(Uint8Array.of(0x61, 0xff, 0x62), false), 'a\ufffdb');
});

test('JSON is read with its numbers as they are; what is none, or too deep, stays a text', () => {
  assert.deepEqual(jsonOfText('{"a":[1,"]]]"]}'), { value: { a: [1, ']]]'] } });
  const exact = jsonOfText('[12345678901234567890]')?.value as readonly { readonly source: string }[] | undefined;
  assert.equal(exact?.[0]?.source, '12345678901234567890');
  assert.equal(jsonOfText('{"a":'), undefined);
  assert.ok(jsonOfText(`${'['.repeat(200)}${']'.repeat(200)}`) !== undefined);
  assert.equal(jsonOfText(`${'['.repeat(201)}${']'.repeat(201)}`), undefined);
  assert.equal(jsonOfText('['.repeat(100_000)), undefined);
  assert.ok(jsonOfText(JSON.stringify('[\\"'.repeat(1000))) !== undefined, 'what is quoted has no depth');
});
