import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExpressionError } from '../expression/expression-error.ts';
import { problemIn } from '../expression/test-problem.ts';
import { evaluateCel } from './cel.ts';
import { parseCel } from './parse.ts';

const context = {
  n: 7,
  x: 1.5,
  items: [1, 2, 3],
  name: 'Ann',
  map: { a: 1, b: null },
  steps: [
    { k: 'a', v: 1 },
    { k: 'b', v: 2 },
  ],
  yes: true,
};
const now = Date.UTC(2026, 10, 18);
const ask = (source: string): unknown => evaluateCel(parseCel(source), { context, input: {}, output: {} }, { now });
const problemOf = (source: string): ExpressionError => problemIn(source, (one) => ask(one));

function all(name: string, cases: readonly (readonly [string, unknown])[]): void {
  describe(name, () => {
    for (const [source, value] of cases) {
      test(`${source} is ${JSON.stringify(value)}`, () => assert.deepEqual(ask(source), value));
    }
  });
}

all('numbers of CEL', [
  ['1 + 2 * 3', 7],
  ['7 / 2', 3],
  ['-7 / 2', -3],
  ['-7 % 3', -1],
  ['7.0 / 2.0', 3.5],
  ['context.n / 2', 3],
  ['context.x * 2.0', 3],
  ['context.n + 0.5', 7.5],
  ['1 == 1.0', true],
  ['context.n > 6.5', true],
  ['0x10 + 1', 17],
  ['-0x10', -16],
  ['-1e3', -1000],
  ['-1e309 < 0', true],
  ['1u + 2u', 3],
  ['.5 + 1e1', 10.5],
  ['- -1', 1],
  ['-9223372036854775808', '-9223372036854775808'],
  ['9007199254740993', '9007199254740993'],
  ['int("12") + int(3.9) + int(-5.5)', 10],
  ['double("1.5") + double(2)', 3.5],
  ['uint(3)', 3],
  ['1.0 / 0.0 > 5.0', true],
]);

all('texts, bytes, lists and maps of CEL', [
  ['"a" + \'b\'', 'ab'],
  ["r'\\d'", '\\d'],
  ['"\\u0041\\x42\\103"', 'ABC'],
  ['"""a"b"""', 'a"b'],
  ['b"abc"', 'YWJj'],
  ['bytes("é") == b"\\xc3\\xa9"', true],
  ['size("é") + size(b"abc") + size([1, 2]) + size({"a": 1})', 7],
  ['"abc".size()', 3],
  ['"abc".startsWith("a") && "abc".endsWith("c") && "abc".contains("b")', true],
  ['"abc".matches("^a.c$") && matches("foobar", "o+b")', true],
  ['"a,b".split(",")', ['a', 'b']],
  ['["a", "b"].join("-")', 'a-b'],
  ['"Hello".lowerAscii() + "x".upperAscii()', 'helloX'],
  ['"hello".substring(1, 3) + "hello".replace("l", "L") + " a ".trim()', 'elheLLoa'],
  ['"abc".indexOf("c") + "abca".lastIndexOf("a")', 5],
  ['"abc".charAt(1)', 'b'],
  ['[1] + [2]', [1, 2]],
  ['[1, [2]] == [1, [2.0]]', true],
  ['{"a": 1} == {"a": 1.0}', true],
  ['{1: "x"}[1]', 'x'],
  ['{"a": 1}.a', 1],
  ['2 in context.items', true],
  ['"a" in context.map', true],
  ['2 in {1: 1, 2: 2}', true],
  ['context.items[1] + context.items.0', 3],
  ['string(12) + string(1.5) + string(true)', '121.5true'],
  ['bool("true")', true],
  ['type(1) == int && type(1.0) == double && type("a") == string && type([]) == list', true],
  ['type(context.n)', 'int'],
]);

all('macros and logic of CEL', [
  ['context.items.all(i, i > 0)', true],
  ['context.items.exists(i, i > 2)', true],
  ['context.items.exists_one(i, i > 1)', false],
  ['context.items.filter(i, i != 2)', [1, 3]],
  ['context.items.map(i, i * 2)', [2, 4, 6]],
  ['context.items.map(i, i > 1, i * 2)', [4, 6]],
  ['context.steps.filter(s, s.v > 1).map(s, s.k)', ['b']],
  ['context.map.all(k, k != "c")', true],
  ['[].all(x, false) && ![].exists(x, true)', true],
  ['[1, 2, 3].exists(x, x / 0 == 1 || x == 3)', true],
  ['has(context.name) && !has(context.nope) && has(context.map.b)', true],
  ['true ? 1 : 2', 1],
  ['false ? 1 : true ? 2 : 3', 2],
  ['true || 1 / 0 > 0', true],
  ['1 / 0 > 0 || true', true],
  ['false && 1 / 0 > 0', false],
  ['1 / 0 > 0 && false', false],
  ['!true || !!context.yes', true],
  ['// a comment\n1', 1],
]);

all('times of CEL', [
  ['timestamp("2026-01-31T12:00:00Z") + duration("24h")', '2026-02-01T12:00:00Z'],
  ['timestamp("2026-01-31T12:00:00.5Z")', '2026-01-31T12:00:00.5Z'],
  ['timestamp("2026-01-02T00:00:00Z") - timestamp("2026-01-01T00:00:00Z") == duration("24h")', true],
  ['duration("1h30m")', '5400s'],
  ['duration("-1.5s")', '-1.5s'],
  ['duration("90m").getHours() + duration("90m").getMinutes()', 91],
  ['timestamp("2026-01-31T12:00:00Z").getFullYear()', 2026],
  ['timestamp("2026-01-31T12:00:00Z").getMonth()', 0],
  ['timestamp("2026-01-31T12:00:00Z").getDayOfMonth()', 30],
  ['timestamp("2026-01-31T12:00:00Z").getDate()', 31],
  ['timestamp("2026-01-31T12:00:00Z").getDayOfWeek()', 6],
  ['timestamp("2026-02-01T12:00:00Z").getDayOfYear()', 31],
  ['timestamp("2026-01-31T12:00:00Z").getHours("Europe/Berlin")', 13],
  ['timestamp("2026-01-31T12:00:00Z").getHours("-02:00")', 10],
  ['timestamp("2026-01-31T12:00:01.25Z").getMilliseconds()', 250],
  ['int(timestamp("1970-01-01T00:01:00Z"))', 60],
  ['timestamp(60)', '1970-01-01T00:01:00Z'],
  ['now - timestamp("2026-11-17T00:00:00Z") == duration("24h")', true],
  ['now > timestamp("2020-01-01T00:00:00+02:00")', true],
  // A context comes from JSON, which has no times: a text that says one is one where it stands beside one.
  ['"2026-11-17T12:00:00Z" > now - duration("24h")', true],
  ['"2026-11-15T12:00:00.123456" > now - duration("24h")', false],
  ['now >= "2026-11-17T13:00:00+01:00" && "2026-11-17T13:00:00+01:00" <= now', true],
  ['now - "2026-11-17T00:00:00Z" == duration("24h")', true],
  ['"2026-11-17T00:00:00Z" - now == duration("-24h")', true],
  ['"2026-11-17T00:00:00Z" + duration("1h") == timestamp("2026-11-17T01:00:00Z")', true],
  ['timestamp("9999-12-31T23:59:59Z").getFullYear()', 9999],
]);

all('what the simple language says, in CEL', [
  ['not context.yes or context.n >= 7 and 1 < 2 < 3', true],
  ['context.items | length == 3', true],
  ['context.missing.deeper == null', true],
  ['context.missing < 1', false],
  ["context.n >= '7'", true],
  ['"nn" in context.name', true],
  ['context.missing | default(3)', 3],
  ['context.yes == True && context.missing == None', true],
  ['len(context.items)', 3],
  ['context.items.length', 3],
]);

describe('CEL that is wrong', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /expected a value, found the end/],
    ['1 +', /expected a value/],
    ['1 2', /expected the end, found "2"/],
    ['(1', /expected "\)"/],
    ['nope', /no name "nope"/],
    ['nope()', /no function "nope"/],
    ['"a".nope()', /no method "nope"/],
    ['context.items.all(1, true)', /all takes a name and an expression/],
    ['has(context)', /has takes a field/],
    ['"open', /not closed/],
    ['"\\q"', /no escape/],
    ['1 / 0', /divides by zero/],
    ['5 % 0', /divides by zero/],
    ['5.0 % 2.0', /takes whole numbers/],
    ['9223372036854775807 + 1', /too large/],
    ['0u - 1u', /no unsigned number/],
    ['"a" + 1', /cannot take a text and a whole number/],
    ['"a" < [1]', /no order/],
    ['1 / 0 > 0 && true', /divides by zero/],
    ['"a".matches("(?=x)")', /no look-around/],
    ['duration("soon")', /a duration is written as/],
    ['timestamp("today")', /a time is written as/],
    ['"today" > now', /a text and a time have no order/],
    ['timestamp("9999-12-31T23:59:59Z") + duration("1s")', /no time between the years 1 and 9999/],
    ['timestamp("0001-01-01T00:00:00Z") - duration("1s")', /no time between the years 1 and 9999/],
    ['timestamp(99999999999999)', /no time between the years 1 and 9999/],
    ['now + duration("99999999999h")', /a duration is at most 10,000 years/],
    ['duration("80000000h") + duration("80000000h")', /a duration is at most 10,000 years/],
    ['timestamp("2026-01-31T12:00:00Z").getHours("Nowhere/At_All")', /no time zone/],
    ['int("x")', /no whole number/],
    ['-"a"', /cannot take a text/],
    ['1.all(x, x)', /./],
    ['[1].all(x, x / 0 == 1)', /divides by zero/],
  ];
  for (const [source, message] of cases) {
    test(`${JSON.stringify(source)} is refused`, () => assert.match(problemOf(source).message, message));
  }
});

describe('hostile CEL', () => {
  const ten = '[0,1,2,3,4,5,6,7,8,9]';
  const cases: readonly (readonly [name: string, source: string, bound: RegExp])[] = [
    ['lists in lists', `${ten}.all(a, ${ten}.all(b, ${ten}.all(c, ${ten}.all(d, ${ten}.all(e, true)))))`, /steps/],
    ['parentheses', `${'('.repeat(900)}1${')'.repeat(900)}`, /nested more than 32/],
    ['negations', `${'!'.repeat(900)}true`, /nested more than 32/],
    ['signs', `${'- '.repeat(900)}1`, /nested more than 32/],
    ['parts', `1${'+1'.repeat(300)}`, /more than 200 parts/],
    ['length', 'x'.repeat(3000), /longer than 2048/],
    ['a regular expression that tries much', `"${'a'.repeat(1500)}!".matches("((a{9}){9}){9}$")`, /steps/],
  ];
  for (const [name, source, bound] of cases) {
    test(`${name} is stopped by a budget`, () => {
      const error = problemOf(source);
      assert.match(error.message, bound);
      assert.equal(error.overBudget, true);
    });
  }

  test('bytes of a long text are printed', () => {
    const value = evaluateCel(parseCel('bytes(context.long)'), { context: { long: 'a'.repeat(400_000) } });
    assert.equal(typeof value === 'string' ? atob(value).length : 0, 400_000);
  });

  test('a pattern that others hang on is answered', () =>
    assert.equal(ask(`"${'a'.repeat(29)}!".matches("(a+)+$")`), false));

  test('a budget that is used up is no operand that || forgives', () => {
    assert.equal(
      problemOf(`${ten}.all(a, ${ten}.all(b, ${ten}.all(c, ${ten}.all(d, ${ten}.all(e, true))))) || true`).overBudget,
      true,
    );
  });

  test('properties of JavaScript are not those of a value', () => {
    assert.equal(
      ask('context.__proto__ == null && context.constructor == null && context.name.constructor == null'),
      true,
    );
    assert.match(problemOf('timestamp(0).nanos').message, /a time has no fields/);
    assert.match(problemOf('constructor').message, /no name/);
  });
});
