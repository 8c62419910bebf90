import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { packBundle, unpackBundle } from './bundle-file.ts';

const FILES = { 'bin/leasehold.js': 'x', 'dist/chunks/@a+b.js': 'y', 'package.json': '{}' };

test('a bundle is unpacked as it was packed, and packed the same each time', () => {
  const bundle = packBundle({ version: '0.2.0', files: FILES });
  assert.deepEqual(unpackBundle(bundle), { version: '0.2.0', files: FILES });
  const turned = Object.fromEntries(Object.entries(FILES).toReversed());
  assert.deepEqual(packBundle({ version: '0.2.0', files: turned }), bundle);
});

test('a path that leads out of its folder, or to a hidden file, is refused', () => {
  const paths = [
    '../x',
    '/etc/x',
    'a/../../x',
    'a//b',
    '',
    '.',
    'a/.',
    '.ssh/x',
    'a\\..\\b',
    'C:/x',
    'a\0b',
    'a/',
    'x'.repeat(300),
  ];
  for (const path of paths) {
    const bundle = packBundle({ version: '0.2.0', files: { ...FILES, [path]: 'evil' } });
    assert.throws(() => unpackBundle(bundle), { code: 'INVALID_INPUT' }, JSON.stringify(path));
  }
});

test('what is no bundle is refused', () => {
  const pack = (value: unknown): Buffer => gzipSync(JSON.stringify(value));
  const whole = { format: 1, version: '0.2.0', files: FILES };
  const wrong = [
    Buffer.from('no gzip'),
    gzipSync('no JSON'),
    pack(null),
    pack({ ...whole, format: 2 }),
    pack({ ...whole, version: '../0.2.0' }),
    pack({ ...whole, files: undefined }),
    pack({ ...whole, files: [] }),
    pack({ ...whole, files: { ...FILES, 'a.js': 7 } }),
    pack({ ...whole, files: { 'a.js': '' } }),
    pack({ ...whole, files: Object.fromEntries(Array.from({ length: 5001 }, (_, n) => [`a${n}`, ''])) }),
  ];
  for (const bytes of wrong) assert.throws(() => unpackBundle(bytes), { code: 'INVALID_INPUT' });
});

test('a small bundle that would unpack to a huge one is refused', () => {
  // 260 MiB of one letter are 260 KiB of gzip.
  const bomb = gzipSync(Buffer.alloc(260 * 1024 * 1024, 'x'), { level: 1 });
  assert.ok(bomb.length < 3 * 1024 * 1024);
  assert.throws(() => unpackBundle(bomb), { code: 'INVALID_INPUT' });
});
