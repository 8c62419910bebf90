import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExpressionError } from '../../expression/expression-error.ts';
import type { Value } from '../../expression/values.ts';
import { itemTemplateOf, renderItem } from './item-template.ts';
import { parseGraphExpression } from './parse.ts';

const item = { a: { n: 7, list: [1, 2, 'x'], 'odd name': true }, text: 'Hello', none: null, zero: 0 };
const read = (text: Value): ReturnType<typeof itemTemplateOf> =>
  itemTemplateOf(text, [], (_path, source, error) => {
    throw new Error(`${source}: ${error.message}`);
  });
const render = (text: Value): Value => renderItem(read(text), { item, items: [item, { a: 2 }] });

describe('an expression of a graph', () => {
  const cases: Readonly<Record<string, Value>> = {
    '$.a.n': 7,
    '$["a"][\'odd name\']': true,
    '$.a.list[1]': 2,
    '$.a.list.length': 3,
    '$.text.length': 5,
    '$.missing': null,
    '$items.length': 2,
    '7 / 2': 3.5,
    '-7 % 4': -3,
    '1 + 2 * 3 - (4 - 1)': 4,
    "'n' + 1 + 2": 'n12',
    '"" + $.a.list': '[1,2,"x"]',
    '$.a.n === 7 && $.text == "Hello"': true,
    '$.a.n !== 7 || $.zero': 0,
    '$.none ?? "other"': 'other',
    '$.zero || "other"': 'other',
    '!$.none': true,
    '$.a.n > 5 ? "big" : "small"': 'big',
    '"b" > "a"': true,
    '$.a.n >= "7"': true,
    '[1, $.a.n]': [1, 7],
    '{ n: $.a.n, "two words": [] }': { n: 7, 'two words': [] },
    '$.text.toUpperCase().slice(1, -1)': 'ELL',
    '" a,b ".trim().split(",").join("-")': 'a-b',
    '"a.b.c".replace(".", "-") + "a.b.c".replaceAll(".", "-")': 'a-b.ca-b-c',
    '$.a.list.includes("x") && "abc".includes("b")': true,
    '"abc".indexOf("c") + [4, 5].indexOf(5)': 3,
    '(3.14159).toFixed(2)': '3.14',
    'JSON.stringify($.a.list)': '[1,2,"x"]',
    'JSON.parse("[1]")[0]': 1,
    'Number("4") + Math.max(1, 2) + Math.round(1.5)': 8,
    'String(null) + String(5)': '5',
    'Boolean("") || Array.isArray([])': true,
    'Object.keys($.a).length + Object.values({ a: 1 })[0]': 4,
    "'\\u0041\\n' + \"\\'\"": "A\n'",
  };
  for (const [source, value] of Object.entries(cases)) {
    test(source, () => assert.deepEqual(render(`{{ ${source} }}`), value));
  }

  const refused: Readonly<Record<string, RegExp>> = {
    'process.exit()': /no name "process"; an expression speaks of \$ and \$items/,
    globalThis: /no name/,
    '$.a.constructor("return 1")()': /no method "constructor"/,
    '$.list.map(x => x + 1)': /unexpected "="|no method "map"/,
    '$.n = 5': /unexpected "="/,
    'new Date()': /no name "new"/,
    'function () {}': /no function|no name/,
    '`${$.a}`': /unexpected "`"/,
    '$.a and $.b': /expected the end/,
    'Math.sqrt(4)': /no function "Math.sqrt"/,
    'fetch("http://x")': /no function "fetch"/,
    '$.a; $.b': /unexpected ";"/,
    '': /expected a value/,
    '"open': /not closed/,
  };
  for (const [source, message] of Object.entries(refused)) {
    test(`refuses ${source} when it is read`, () => {
      assert.throws(
        () => parseGraphExpression(source),
        (error) => error instanceof ExpressionError && message.test(error.message),
      );
    });
  }

  test('reads only what values own', () => {
    assert.equal(render('{{ $.__proto__ }}'), null);
    assert.equal(render('{{ $.a.toString }}'), null);
    assert.deepEqual(render('{{ { __proto__: 1 } }}'), JSON.parse('{"__proto__":1}'));
  });

  test('ends within its budget, and that fails the node', () => {
    const deep = `${'('.repeat(40)}1${')'.repeat(40)}`;
    assert.throws(() => parseGraphExpression(deep), /nested more than/);
    const big = { text: 'x'.repeat(3_000_000) };
    const template = read('{{ $.text + $.text }}');
    assert.throws(() => renderItem(template, { item: big, items: [] }), /more than 4000000 characters/);
  });
});

describe('a text with expressions', () => {
  test('is gone through once, whatever is not closed in it', () => {
    const long = '{{'.repeat(2_000_000);
    const started = process.cpuUsage();
    assert.equal(render(long), long);
    assert.equal(render(`${long}{{ $.a.n }`), `${long}{{ $.a.n }`);
    // A search from each of them to the end would take hours.
    assert.ok(process.cpuUsage(started).user < 20_000_000);
    assert.equal(render('{{ $.a.n }} {{ $.a.n'), '7 {{ $.a.n');
    assert.equal(render('}} {{ $.a.n }}'), '}} 7');
  });

  test('keeps the type of a single expression, and is a text otherwise', () => {
    assert.equal(render('{{ $.a.n }}'), 7);
    assert.equal(render('n = {{ $.a.n }}, {{$.none}}{{ $.a.list }}.'), 'n = 7, [1,2,"x"].');
    assert.equal(render(' {{ $.a.n }}'), ' 7');
    assert.equal(render('no expression'), 'no expression');
  });

  test('stays as it was written if one of its expressions fails', () => {
    assert.equal(render('{{ $.none.deep }}'), '{{ $.none.deep }}');
    assert.equal(render('{{ $.a.n }} and {{ $.missing.deep }}'), '{{ $.a.n }} and {{ $.missing.deep }}');
    assert.equal(render('{{ $.text - 1 }}'), '{{ $.text - 1 }}');
  });

  test('may stand anywhere in a value, of which the rest is left alone', () => {
    assert.deepEqual(render({ a: ['{{ $.zero }}', 1], b: { c: '-{{ $.zero }}' } }), { a: [0, 1], b: { c: '-0' } });
  });
});
