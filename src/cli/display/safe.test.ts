import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isolated, safeJson, safeLine, safeLog, safeText } from './safe.ts';

const ESC = '\u001b';
const COLOUR = new RegExp(`${ESC}\\[[\\d;:]*m`, 'g');
/** What must never come through. */
const CONTROL = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;
/** Nor this, in one line. */
const ANY_CONTROL = /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;
/** Well-known ways to do harm with text on a terminal. */
const HOSTILE = {
  clipboard: `${ESC}]52;c;cm0gLXJmIH4=\u0007`,
  'clipboard, ended by ST': `${ESC}]52;c;cm0gLXJmIH4=${ESC}\\`,
  title: `${ESC}]0;owned\u0007`,
  link: `${ESC}]8;;http://evil.example\u0007`,
  'clear the screen': `${ESC}[2J${ESC}[H`,
  'cursor up': `${ESC}[1A`,
  'private mode': `${ESC}[?1049h`,
  'device report': `${ESC}[6n`,
  DECRQSS: `${ESC}P$q"p${ESC}\\`,
  'eight-bit CSI': '\u009b2J',
  'eight-bit OSC': '\u009d0;owned\u009c',
  'character set': `${ESC}(0`,
  reset: `${ESC}c`,
  'application message': `${ESC}_G;payload${ESC}\\`,
  bell: '\u0007',
  backspace: '\b\b\b',
  NUL: '\u0000',
  DEL: '\u007f',
  'right to left override': '\u202e',
  isolate: '\u2067',
  mark: '\u200f',
  'zero width': '\u200b\ufeff\u2060',
  tags: '\u{e0041}',
};

test('hostile sequences leave nothing behind, whatever stands around them', () => {
  for (const [what, text] of Object.entries(HOSTILE)) {
    for (const clean of [safeLine, safeText, (dirty: string) => safeLog(dirty, { colours: true })]) {
      assert.equal(clean(`a${text}b`), 'ab', what);
    }
  }
});

test('a sequence without its end loses only what a terminal would act on', () => {
  assert.equal(safeLine(`a${ESC}]52;c;text`), 'a]52;c;text');
  assert.equal(safeText(`a${ESC}]0;x\nb\u0007`), 'a]0;x\nb');
  assert.equal(safeLine(`a${ESC}`), 'a');
  assert.equal(safeLine(`a${ESC}[`), 'a[');
});

test('what writes over a line begins a new one, and one line stays one line', () => {
  assert.equal(safeText('10%\r20%\r\ndone'), '10%\n20%\ndone');
  assert.equal(safeLine('a\r\nb\tc\u2028d\u0085e'), 'a b c d e');
});

test('tabs, newlines, joiners and all visible letters stay', () => {
  const text = 'tab\there\nnaïve 中文 שלום 👩‍💻 е́';
  assert.equal(safeText(text), text);
});

test('colours stay in a log where they are wanted, and end with it; other sequences never do', () => {
  const red = `${ESC}[31;1mred${ESC}[0m${ESC}[2J plain ${ESC}[38:2::1:2:3mx`;
  assert.equal(safeLog(red, { colours: true }), `${ESC}[31;1mred${ESC}[0m plain ${ESC}[38:2::1:2:3mx${ESC}[0m`);
  assert.equal(safeLog(red, { colours: false }), 'red plain x');
  assert.equal(safeLog('no colour', { colours: true }), 'no colour');
  assert.equal(safeLog(`${ESC}[>4m${ESC}[?1m${ESC}[1$m`, { colours: true }), '', 'not all that ends in m is a colour');
});

test('JSON on a terminal has every invisible letter escaped, and still says the same', () => {
  const value = { input: Object.values(HOSTILE).join('x'), '\u009b2J': 'שלום' };
  const text = safeJson(value);
  assert.deepEqual(JSON.parse(text), value);
  assert.doesNotMatch(text, /\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069\u{e0041}]/u);
  assert.match(text, /שלום/);
  assert.equal(safeJson(undefined), 'null');
});

test('text that runs from right to left is kept to itself', () => {
  assert.equal(isolated('abc'), 'abc');
  assert.equal(isolated('שלום'), '\u2068שלום\u2069');
});

// Mostly the letters that sequences are made of, so that chance finds the strange ones.
const letter = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...'\u001b\u001b\u001b[]P^_X\\;?:m0123$"#(~ @ab\n\r\t\u0007\u009b\u009c\u009d\u0090'.split(''),
    ),
  },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) },
  { weight: 1, arbitrary: fc.constantFrom(...Object.values(HOSTILE)) },
);
const dirty = fc.array(letter, { maxLength: 60 }).map((letters) => letters.join(''));
const FUZZ = { numRuns: 20_000, seed: 19 };

test('no text of any kind brings a control character through', () => {
  fc.assert(
    fc.property(dirty, (text) => {
      assert.doesNotMatch(safeText(text), CONTROL);
      assert.doesNotMatch(safeLine(text), ANY_CONTROL);
      assert.deepEqual(JSON.parse(safeJson(text)), JSON.parse(JSON.stringify(text)));
    }),
    FUZZ,
  );
});

test('of a log, colours alone come through', () => {
  fc.assert(
    fc.property(dirty, (text) => {
      const kept = safeLog(text, { colours: true });
      const rest = kept.replaceAll(COLOUR, '');
      assert.doesNotMatch(rest, CONTROL);
      assert.ok(kept === rest || kept.endsWith('\u001b[0m'));
    }),
    FUZZ,
  );
});

test('a megabyte of beginnings takes no longer than a megabyte of text', () => {
  for (const beginning of [`${ESC}]`, `${ESC}[`, '\u009d', `${ESC}P0`, `${ESC}[0;`]) {
    const text = beginning.repeat(Math.ceil(1_000_000 / beginning.length));
    const startedAt = performance.now();
    safeText(text);
    safeLog(text, { colours: true });
    assert.ok(performance.now() - startedAt < 5000, JSON.stringify(beginning));
  }
});
