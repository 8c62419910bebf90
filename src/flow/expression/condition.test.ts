import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Budget } from './budget.ts';
import { evaluateCondition, parseCondition } from './condition.ts';
import { describe as describeError, ExpressionError } from './expression-error.ts';
import { problemIn } from './test-problem.ts';

const context = {
  count: 3,
  name: 'ann',
  text: '12',
  list: [1, 2, { k: 'v' }],
  map: { a: 1, 'two words': 2 },
  none: null,
  yes: true,
  zero: 0,
  stale: [],
};
const ask = (source: string): unknown =>
  evaluateCondition(parseCondition(source), { context, input: { n: 1 }, output: {} });
const problemOf = (source: string): ExpressionError => problemIn(source, (one) => ask(one));

describe('a condition', () => {
  const answers: readonly (readonly [string, unknown])[] = [
    ['context.count == 3', true],
    ['context.count != 3', false],
    ['context.count > 2 and context.count < 4', true],
    ['2 < context.count < 4', true],
    ['4 > context.count > 3', false],
    ['not context.yes or context.yes', true],
    ['not (context.yes or context.yes)', false],
    ['not context.count == 4', true],
    ['context.zero or context.name', 'ann'],
    ['context.zero and context.missing.deep', 0],
    ['context.count + 1 * 2 - 4 / 2', 3],
    ['(context.count + 1) * 2', 8],
    ['7 / 2', 3.5],
    ['7 % 4', 3],
    ['-context.count + 4', 1],
    ['- -2', 2],
    ['context.list[0]', 1],
    ['context.list[-1].k', 'v'],
    ['context.list.1', 2],
    ['context.list.2.k', 'v'],
    ['context.list.length', 3],
    ['context.name.length', 3],
    ['context.map["two words"]', 2],
    ["context['map']['a']", 1],
    ['context.map[context.name]', null],
    ['context.missing', null],
    ['context.missing.deeper.still', null],
    ['context.none == null', true],
    ['context.missing == None', true],
    ['context.yes == True', true],
    ["context.name == 'ann'", true],
    ['"it\\"s" == "it\\"s"', true],
    ["'caf\\u00e9'", 'café'],
    ['context.none < 1', false],
    ['context.none >= 1', false],
    ['context.missing > 0', false],
    ["context.count >= '3'", true],
    ["context.count >= '4'", false],
    ["'10' > context.count", true],
    ["context.count > 'x'", false],
    ["'a' < 'b'", true],
    ['context.text == 12', false],
    ['1 == 1.0', true],
    ['[1, [2]] == [1, [2]]', true],
    ['2 in context.list', true],
    ["'a' in context.map", true],
    ["'x' not in context.name", true],
    ['context.stale | length == 0', true],
    ['context.list | length - 1', 2],
    ['context.list[context.list | length - 1].k', 'v'],
    ['len(context.list) == size(context.list)', true],
    ['context.missing | default(5)', 5],
    ['context.name | upper', 'ANN'],
    ["'ANN' | lower == context.name", true],
    ['context.text | int + 1', 13],
    ['context.list | first', 1],
    ['input.n == 1', true],
    ['1e3', 1000],
    ['  true  ', true],
  ];
  for (const [source, answer] of answers) {
    test(`${source} is ${JSON.stringify(answer)}`, () => assert.deepEqual(ask(source), answer));
  }

  const problems: readonly (readonly [string, number, RegExp])[] = [
    ['', 0, /expected a value, found the end/],
    ['1 +', 3, /expected a value, found the end/],
    ['(1', 2, /expected "\)", found the end/],
    ['1)', 1, /expected the end, found "\)"/],
    ['1 2', 2, /expected the end, found "2"/],
    ['context.', 8, /expected a name/],
    ['context.list[]', 13, /expected a value, found "\]"/],
    ["'open", 0, /not closed: expected '/],
    ['unknown == 1', 0, /no name "unknown" here; there are context, input, output/],
    ['range(3)', 0, /no function "range"; there are len, size/],
    ['context.items | lenght', 16, /no filter "lenght"; did you mean length\?/],
    ['context.list | nope', 15, /no filter "nope"/],
    ['context.name.upper()', 13, /no method "upper"/],
    ['context()', 7, /./],
    ['1 & 2', 2, /unexpected "&"/],
    ['12abc', 0, /not a number/],
    ['1 if true else 2', 2, /expected the end, found "if"/],
    ['context.name + 1', 13, /"\+" cannot take a text and a number/],
    ['1 / 0', 2, /divides by zero/],
    ['-context.name', 0, /"-" cannot take a text/],
    ['1 in 5', 2, /cannot look into a number/],
  ];
  for (const [source, at, message] of problems) {
    test(`${JSON.stringify(source)} is refused, and the message says where`, () => {
      const error = problemOf(source);
      assert.match(error.message, message);
      if (source !== 'context()') assert.equal(error.at, at);
      assert.equal(error.overBudget, false);
    });
  }

  test('an error names its column, and its line where there are several', () => {
    assert.equal(describeError(problemOf('1 2'), '1 2'), 'column 3: expected the end, found "2"');
    const source = 'context.count ==\n  nope';
    assert.match(describeError(problemOf(source), source), /^line 2, column 3: there is no name "nope"/);
  });

  test('properties of JavaScript are not those of a value', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', '__defineGetter__']) {
      assert.equal(ask(`context.${name}`), null);
      assert.equal(ask(`context['${name}']`), null);
      assert.equal(ask(`context.name.${name}`), null);
      assert.equal(ask(`context.list.${name}`), null);
    }
    assert.match(problemOf('constructor').message, /no name "constructor"/);
    assert.match(problemOf('__proto__').message, /no name/);
  });

  test('a key that is named like a property of JavaScript is only a key', () => {
    const hostile = JSON.parse('{"__proto__": 1, "constructor": 2}') as Record<string, unknown>;
    const value = evaluateCondition(parseCondition('context.__proto__ + context.constructor'), { context: hostile });
    assert.equal(value, 3);
  });
});

describe('the budget of a condition', () => {
  const overBudget = (source: string): ExpressionError => {
    const error = problemOf(source);
    assert.equal(error.overBudget, true, error.message);
    return error;
  };

  test('bounds its length', () => assert.match(overBudget(`1${' + 1'.repeat(700)}`).message, /longer than 2048/));
  test('bounds its parts', () => assert.match(overBudget(`1${'+1'.repeat(150)}`).message, /more than 200 parts/));
  test('bounds how deep it goes, in each way to go deeper', () => {
    for (const source of [
      `${'('.repeat(600)}1${')'.repeat(600)}`,
      `${'['.repeat(600)}1${']'.repeat(600)}`,
      `${'not '.repeat(300)}1`,
      `${'-'.repeat(600)}1`,
      `${'context['.repeat(200)}1${']'.repeat(200)}`,
    ]) {
      assert.match(overBudget(source).message, /nested more than 32 deep/);
    }
  });
  test('bounds its steps, also those of comparing', () => {
    const large = Array.from({ length: 60_000 }, (_, i) => i);
    assert.throws(
      () =>
        evaluateCondition(
          parseCondition('context.a == context.b'),
          { context: { a: large, b: [...large] } },
          { ...BOUNDS, steps: 50_000 },
        ),
      /more than 50000 steps/,
    );
  });
  test('is not used up by what it does not do', () => {
    const budget = new Budget({ ...BOUNDS, steps: 3, size: 10 });
    budget.step(0, 3);
    budget.grow(0, 10);
    assert.throws(() => budget.step(0), /more than 3 steps/);
    assert.throws(() => budget.grow(0, 1), /more than 10 characters/);
    assert.throws(() => new Budget(BOUNDS).step(0, Number.NaN), ExpressionError);
  });
});

const BOUNDS = { source: 2048, nodes: 200, depth: 32, steps: 100_000, size: 1_000_000 };
