import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scaled } from '../../../test/support/scale.ts';
import { formsOf } from './forms.ts';
import { Redactor } from './redactor.ts';

function redactor(...secrets: readonly string[]): Redactor {
  const made = new Redactor();
  made.add(secrets);
  return made;
}

const SECRET = 'p@ss/wörd "42"!';

test('a secret is hidden as it is, as JSON, in URLs, as hex and as base64', () => {
  const hides = redactor(SECRET);
  const forms: Readonly<Record<string, string>> = {
    raw: SECRET,
    json: JSON.stringify({ a: SECRET }).slice(6, -2),
    'json within json': JSON.stringify(SECRET).slice(1, -1),
    ascii: 'p@ss/w\\u00f6rd \\"42\\"!',
    'json of php': 'p@ss\\/w\\u00f6rd \\"42\\"!',
    component: encodeURIComponent(SECRET),
    'lower case': encodeURIComponent(SECRET).toLowerCase(),
    form: new URLSearchParams({ a: SECRET }).toString().slice(2),
    hex: Buffer.from(SECRET).toString('hex'),
    HEX: Buffer.from(SECRET).toString('hex').toUpperCase(),
    base64: Buffer.from(SECRET).toString('base64'),
    base64url: Buffer.from(SECRET).toString('base64url'),
  };
  for (const [name, form] of Object.entries(forms)) {
    assert.equal(hides.hide(`before <${form}> after`), 'before <***> after', name);
    assert.equal(hides.hide(form), '***', name);
  }
});

test('base64 is found wherever the secret begins in what was encoded', () => {
  const hides = redactor(SECRET);
  for (const before of ['', 'a', 'ab', 'abc', 'user:']) {
    for (const after of ['', 'x', 'yz', ':more']) {
      for (const alphabet of ['base64', 'base64url'] as const) {
        const said = hides.hide(Buffer.from(before + SECRET + after).toString(alphabet));
        const left = Buffer.from(said.replaceAll('***', ''), alphabet).toString('latin1');
        assert.ok(said.includes('***'), `${before}…${after}`);
        for (let at = 0; at + 3 <= SECRET.length; at++) assert.ok(!left.includes(SECRET.slice(at, at + 3)), said);
      }
    }
  }
});

test('a value of several lines is hidden line by line, and short lines are not', () => {
  const hides = redactor('-----BEGIN KEY-----\nMIIEabcdefgh\r\n  indented secret\nQ==\n');
  assert.equal(hides.hide('log: MIIEabcdefgh'), 'log: ***');
  assert.equal(hides.hide('indented secret, Q=='), '***, Q==');
});

test('nothing shorter than eight characters is looked for', () => {
  const hides = redactor('short', '');
  assert.equal(hides.idle, true);
  assert.equal(hides.hide('short'), 'short');
});

test('secrets that overlap or touch are hidden as one', () => {
  const hides = redactor('abcdefgh', 'efghijkl', 'cdefghij', '12345678');
  assert.equal(hides.hide('xabcdefghijklx'), 'x***x');
  assert.equal(hides.hide('abcdefgh12345678'), '***');
  assert.equal(hides.hide('abcdefg efghijkl'), 'abcdefg ***');
});

test('of a text that was cut, the beginning of a secret is hidden too', () => {
  const hides = redactor('hunter2hunter2');
  assert.equal(hides.hide('the value is hunter2hun', true), 'the value is ***');
  assert.equal(hides.hide('the value is hunter2hun'), 'the value is hunter2hun');
});

test('texts, keys and numbers of a value are hidden, and nothing else of it changes', () => {
  const hides = redactor('hunter2hunter2', '1234567890', 'with "quotes"');
  const value = { a: ['x hunter2hunter2', null, true, 1.5], hunter2hunter2: { n: 1234567890, q: 'with "quotes"' } };
  assert.deepEqual(hides.hideIn(value), { a: ['x ***', null, true, 1.5], '***': { n: '***', q: '***' } });
  const plain = { a: [1, { b: new Date(0) }] };
  assert.equal(hides.hideIn(plain), plain);
  assert.equal(hides.hideIn(undefined), undefined);
  const circle: { own?: unknown } = {};
  circle.own = circle;
  assert.equal(hides.hideIn(circle), circle);
});

test('an error is hidden in its message, code and stack', () => {
  const hides = redactor('hunter2hunter2');
  const error = Object.assign(new Error('no hunter2hunter2'), { code: 'E_hunter2hunter2' });
  const told = hides.hideInError(error) as { message: string; code: string; stack: string };
  assert.deepEqual([told.message, told.code], ['no ***', 'E_***']);
  assert.ok(!told.stack.includes('hunter2'));
  const plain = new Error('nothing');
  assert.equal(hides.hideInError(plain), plain);
});

test('what is added later is hidden from then on', () => {
  const hides = redactor('hunter2hunter2');
  assert.equal(hides.hide('another-secret'), 'another-secret');
  hides.add(['another-secret']);
  assert.equal(hides.hide('another-secret'), '***');
});

// Few letters, so that forms overlap, repeat and nearly match.
const secret = fc.string({ unit: fc.constantFrom('a', 'b', '/', 'ü'), minLength: 8, maxLength: 14 });
const noise = fc.string({ unit: fc.constantFrom('a', 'b', '/', 'ü', '%', 'Y'), maxLength: 12 });

/** Whether it is hidden, byte by byte, found the slow way. */
function slowly(text: Buffer, secrets: readonly string[]): string {
  const hidden = new Uint8Array(text.length);
  for (const form of formsOf(secrets)) {
    const bytes = Buffer.from(form);
    for (let at = text.indexOf(bytes); at >= 0; at = text.indexOf(bytes, at + 1)) hidden.fill(1, at, at + bytes.length);
  }
  let said = '';
  for (const [at, byte] of text.entries()) {
    if (hidden[at] === 0) said += String.fromCharCode(byte);
    else if (at === 0 || hidden[at - 1] === 0) said += '***';
  }
  return said;
}

test('however a text is cut into pieces, the output is that of the whole, and no form is left in it', () => {
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(noise, fc.nat()), { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (secrets, parts, cuts) => {
        const forms = [...formsOf(secrets)];
        const text = Buffer.from(parts.map(([plain, pick]) => plain + forms[pick % forms.length]).join(''));
        const hides = redactor(...secrets);
        const stream = hides.stream();
        let said = '';
        let from = 0;
        for (const to of [...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b)) {
          said += stream.push(text.subarray(from, to)).toString('latin1');
          from = to;
        }
        said += stream.end().toString('latin1');
        assert.equal(said, slowly(text, secrets));
        for (const form of forms) assert.ok(!said.includes(Buffer.from(form).toString('latin1')), form);
      },
    ),
    { numRuns: scaled(500, 20_000) },
  );
});

test('a value of the largest size costs about as much for each byte as a small one', () => {
  const large = 'x'.repeat(20_000) + 'y'.repeat(20_000);
  const hides = redactor(large);
  // Nearly a match, again and again.
  const text = `${'x'.repeat(19_999)} `.repeat(20);
  const began = performance.now();
  assert.equal(hides.hide(text), text);
  assert.ok(performance.now() - began < 20_000);
});
