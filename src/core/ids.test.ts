import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isEngineError } from './errors.ts';
import type { Prefix } from './ids.ts';
import { halfSipHash13, MAX_ID, makeIdCodec, numberIn } from './ids.ts';

const KEY = '000102030405060708090a0b0c0d0e0f';
const codec = makeIdCodec(KEY);
const BORN = Date.UTC(2026, 0, 2, 3, 4, 5);

const uint48 = fc.oneof(fc.integer({ min: 0, max: MAX_ID }), fc.constantFrom(0, 1, 2 ** 22, 2 ** 32, 2 ** 36, MAX_ID));
const prefixes = fc.constantFrom<Prefix>('task_', 'wrk_', 'run_');

/** A small seeded generator, so that a forgery that passes by chance (once in 2^26) does so always or never. */
function seeded(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % bound;
  };
}

/** The published algorithm for any length, written plainly, to compare the unrolled one with. */
function halfSipHash(k0: number, k1: number, bytes: Uint8Array): number {
  const v = Int32Array.of(k0, k1, k0 ^ 0x6c796765, k1 ^ 0x74656462);
  const get = (i: number): number => v[i] ?? 0;
  const rotate = (x: number, n: number): number => (x << n) | (x >>> (32 - n));
  const mix = (a: number, b: number, n: number): void => {
    v[a] = get(a) + get(b);
    v[b] = rotate(get(b), n) ^ get(a);
  };
  const round = (): void => {
    mix(0, 1, 5);
    v[0] = rotate(get(0), 16);
    mix(2, 3, 8);
    mix(0, 3, 7);
    mix(2, 1, 13);
    v[2] = rotate(get(2), 16);
  };
  const padded = new Uint8Array(Math.floor(bytes.length / 4) * 4 + 4);
  padded.set(bytes);
  padded[padded.length - 1] = bytes.length;
  const view = new DataView(padded.buffer);
  for (let at = 0; at < padded.length; at += 4) {
    const word = view.getInt32(at, true);
    v[3] = get(3) ^ word;
    round();
    round();
    v[0] = get(0) ^ word;
  }
  v[2] = get(2) ^ 0xff;
  for (let i = 0; i < 4; i += 1) round();
  return (get(1) ^ get(3)) >>> 0;
}

test('the check bits come from HalfSipHash-2-4 as its authors published it', () => {
  // Vectors of the authors: key 00..07, message of n bytes 00, 01, ... for n = 0 to 13.
  const published = [
    0x5b9f35a9, 0xb85a4727, 0x03a662fa, 0x04e7fe8a, 0x89466e2a, 0x69b6fac5, 0x23fc6358, 0xc563cf8b, 0x8f84b8d0,
    0x79e706f8, 0x3479b094, 0x50300808, 0x2f87f057, 0xff63e677,
  ];
  published.forEach((expected, length) => {
    assert.equal(
      halfSipHash(
        0x03020100,
        0x07060504,
        Uint8Array.from({ length }, (_, i) => i),
      ),
      expected,
    );
  });
  assert.equal(halfSipHash13(0x03020100, 0x07060504, 0x03020100, 0x07060504, 0x0b0a0908, 0x0c), published[13]);
});

test('the unrolled hash equals the plain one for any key and message', () => {
  const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  fc.assert(
    fc.property(word, word, word, word, word, fc.integer({ min: 0, max: 255 }), (k0, k1, m0, m1, m2, last) => {
      const bytes = new Uint8Array(13);
      const view = new DataView(bytes.buffer);
      [m0, m1, m2].forEach((value, i) => {
        view.setInt32(4 * i, value, true);
      });
      bytes[12] = last;
      assert.equal(halfSipHash13(k0, k1, m0, m1, m2, last), halfSipHash(k0, k1, bytes));
    }),
  );
});

test('an id is a canonical UUIDv7 after its prefix, and its text never changes between versions', () => {
  fc.assert(
    fc.property(prefixes, uint48, uint48, (prefix, id, createdAt) => {
      const text = codec.encode(prefix, id, createdAt);
      assert.ok(text.startsWith(prefix));
      assert.match(text.slice(prefix.length), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(Number.parseInt(text.slice(prefix.length, prefix.length + 13).replace('-', ''), 16), createdAt);
    }),
  );
  assert.equal(codec.encode('task_', 1, BORN), 'task_019b7ca9-8c88-7000-8000-000005818e28');
  assert.equal(codec.encode('run_', MAX_ID, MAX_ID), 'run_ffffffff-ffff-7fff-bfff-fffffc7d3127');
});

test('every id decodes to what it was made from', () => {
  fc.assert(
    fc.property(prefixes, uint48, uint48, (prefix, id, createdAt) => {
      assert.deepEqual(codec.decode(prefix, codec.encode(prefix, id, createdAt)), { id, createdAt });
    }),
    { numRuns: 2_000 },
  );
});

test('ids sort as text like (creation time, internal id)', () => {
  const pair = fc.tuple(fc.oneof(fc.integer({ min: BORN, max: BORN + 3 }), uint48), uint48);
  fc.assert(
    fc.property(pair, pair, ([bornA, idA], [bornB, idB]) => {
      const byText = codec.encode('task_', idA, bornA) < codec.encode('task_', idB, bornB);
      assert.equal(byText, bornA < bornB || (bornA === bornB && idA < idB));
    }),
    { numRuns: 2_000 },
  );
});

test('an id of another kind is refused', () => {
  const text = codec.encode('task_', 42, BORN);
  assert.equal(codec.decode('run_', text), undefined);
  assert.equal(codec.decode('run_', `run_${text.slice(5)}`), undefined);
  assert.equal(codec.decode('wrk_', `wrk_${text.slice(5)}`), undefined);
});

test('an id of another cluster is refused', () => {
  const other = makeIdCodec('100102030405060708090a0b0c0d0e0f');
  for (let id = 0; id < 1_000; id += 1) {
    assert.equal(other.decode('task_', codec.encode('task_', id, BORN + id)), undefined);
  }
});

test('twenty thousand ids with a few flipped bits are refused', () => {
  const random = seeded(1);
  for (let i = 0; i < 20_000; i += 1) {
    const bytes = Buffer.from(
      codec
        .encode('task_', random(2 ** 31), BORN + random(10 ** 9))
        .slice(5)
        .replaceAll('-', ''),
      'hex',
    );
    const flips = 1 + random(4);
    const bits = new Set(Array.from({ length: flips }, () => random(128)));
    for (const bit of bits) bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    const forged = bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    assert.equal(codec.decode('task_', `task_${forged}`), undefined, forged);
  }
});

test('three hundred thousand ids forged with guessed keys are refused', () => {
  const random = seeded(2);
  for (let key = 0; key < 300; key += 1) {
    const forger = makeIdCodec(Array.from({ length: 32 }, () => random(16).toString(16)).join(''));
    for (let i = 0; i < 1_000; i += 1) {
      const forged = forger.encode('task_', random(2 ** 31), BORN + random(10 ** 9));
      if (codec.decode('task_', forged) !== undefined) assert.fail(`${forged} passed`);
    }
  }
});

test('no other check bits pass for an id', () => {
  const text = codec.encode('task_', 42, BORN);
  const random = seeded(3);
  for (let i = 0; i < 20_000; i += 1) {
    const guess =
      text.slice(0, -6) +
      random(2 ** 24)
        .toString(16)
        .padStart(6, '0');
    if (guess !== text) assert.equal(codec.decode('task_', guess), undefined);
  }
});

test('only the canonical lower-case form is accepted', () => {
  const text = codec.encode('task_', 0xabcdef, BORN);
  const uuid = text.slice(5);
  const wrong = [
    '',
    'task_',
    uuid,
    text.toUpperCase(),
    `task_${uuid.toUpperCase()}`,
    `TASK_${uuid}`,
    ` ${text}`,
    `${text} `,
    `${text}0`,
    text.slice(0, -1),
    `task_{${uuid}}`,
    `task_${uuid.replaceAll('-', '')}`,
    `task_${uuid.replaceAll('-', '')}----`,
    `task_urn:uuid:${uuid}`,
  ];
  for (const form of wrong) assert.equal(codec.decode('task_', form), undefined, form);
});

test('a wrong character anywhere is refused', () => {
  const text = codec.encode('task_', MAX_ID, BORN);
  for (let at = 0; at < text.length; at += 1) {
    for (const wrong of ['g', 'A', '-', '0', ' ', '\u0000', 'é', '\u0130', '\ud800']) {
      if (text[at] === wrong) continue;
      assert.equal(codec.decode('task_', text.slice(0, at) + wrong + text.slice(at + 1)), undefined, `${at} ${wrong}`);
    }
  }
});

test('an id or a time outside 48 bits cannot be encoded, and a bad key makes no codec', () => {
  const isDefect = (error: unknown): boolean => isEngineError(error, 'INTERNAL');
  for (const wrong of [-1, MAX_ID + 1, 0.5, Number.NaN, Infinity]) {
    assert.throws(() => codec.encode('task_', wrong, BORN), isDefect);
    assert.throws(() => codec.encode('task_', 1, wrong), isDefect);
  }
  for (const key of ['', 'abc', KEY.toUpperCase(), `${KEY}00`, 'g'.repeat(32)]) {
    assert.throws(() => makeIdCodec(key), isDefect);
  }
});

test('the number of an id is read without its cluster, and of no other kind of id', () => {
  const id = makeIdCodec('0123456789abcdef0123456789abcdef').encode('task_', 2 ** 40 + 7, 1_700_000_000_000);
  assert.equal(numberIn('task_', id), 2 ** 40 + 7);
  assert.equal(numberIn('wrk_', id), undefined);
  assert.equal(numberIn('task_', 'task_x'), undefined);
});
