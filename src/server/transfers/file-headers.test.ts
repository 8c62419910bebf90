import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileHeaders } from './file-headers.ts';

const headersOf = (type: string, { inline = false, name = 'dir/a.bin' } = {}) =>
  fileHeaders({ name, type, size: 1, sha256: 'a'.repeat(64) }, { inline });

test('a browser saves a file of whatever type, and runs nothing of it', () => {
  for (const type of ['text/html', 'image/svg+xml', 'application/pdf', 'text/plain', 'text/xml', 'image/png']) {
    const headers = headersOf(type);
    assert.match(headers['content-disposition'] as string, /^attachment; /, type);
    assert.equal(headers['content-security-policy'], "sandbox; default-src 'none'");
    assert.equal(headers['x-content-type-options'], 'nosniff');
  }
});

test('it shows texts and pictures where it is asked to, and never what could run', () => {
  const shown = ['text/plain', 'application/json', 'image/png', 'image/jpeg', 'image/gif', 'image/webp'];
  for (const type of [...shown, 'text/plain; charset=utf-16', 'TEXT/PLAIN']) {
    assert.match(headersOf(type, { inline: true })['content-disposition'] as string, /^inline; /, type);
  }
  const never = [
    'text/html',
    'image/svg+xml',
    'application/pdf',
    'text/xml',
    'application/xhtml+xml',
    'text/plain,text/html',
  ];
  for (const type of [...never, 'image/png/x', '', 'text/javascript', 'multipart/x-mixed-replace']) {
    assert.match(headersOf(type, { inline: true })['content-disposition'] as string, /^attachment; /, type);
  }
});

test('a type that is none becomes bytes, and a header has no other line', () => {
  for (const type of ['x', 'text/html\r\nx-evil: 1', 'text/ht ml', '', `text/${'x'.repeat(200)}`]) {
    assert.equal(headersOf(type)['content-type'], 'application/octet-stream', type);
  }
  assert.equal(headersOf('text/html; charset=utf-7')['content-type'], 'text/html; charset=utf-8');
});

test('the name of a file is its last part, and cannot end its header or add to it', () => {
  const told = (name: string): string => headersOf('text/plain', { name })['content-disposition'] as string;
  assert.equal(told('out/report.txt'), `attachment; filename="report.txt"; filename*=UTF-8''report.txt`);
  assert.equal(told('a"b\\c%41.txt'), `attachment; filename="a_b_c_41.txt"; filename*=UTF-8''a%22b%5Cc%2541.txt`);
  assert.equal(told('größe.txt'), `attachment; filename="gr__e.txt"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt`);
  assert.doesNotMatch(told('a\r\nset-cookie: x'), /[\r\n]/);
  assert.match(told("it's (1)*.txt"), /filename\*=UTF-8''it%27s%20%281%29%2A\.txt$/);
});
