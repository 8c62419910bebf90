/** Templates and conditions of somebody who means harm: A29–A31, A64 and our own. Each is refused by a count, never by a time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluateCel } from './cel/cel.ts';
import { parseCel } from './cel/parse.ts';
import { evaluateCondition, parseCondition } from './expression/condition.ts';
import { ExpressionError } from './expression/expression-error.ts';
import { drive, machineOf } from './machine/test-driver.ts';
import { renderTemplate, templateOf } from './template/template.ts';

const big = 'a'.repeat(1_000_000);
const list = Array.from({ length: 50_000 }, (_, i) => i);
const texts = Array.from({ length: 2000 }, () => 'a'.repeat(100));
const map = Object.fromEntries(list.map((i) => [`k${i}`, i]));
const scope = { context: { big, list, texts, map }, input: {}, output: {} };

const engines = {
  template: (source: string) => renderTemplate(templateOf(source), scope),
  simple: (source: string) => evaluateCondition(parseCondition(source), scope),
  cel: (source: string) => evaluateCel(parseCel(source), scope),
};

const overBudget = (engine: keyof typeof engines, source: string): void => {
  assert.throws(
    () => engines[engine](source),
    (error: unknown) =>
      error instanceof ExpressionError && error.overBudget && /more than|longer than/.test(error.message),
    `${engine}: ${source.slice(0, 80)}`,
  );
};

const looped = (body: string): string => `{% for i in range(10000) %}{% if ${body} %}{% endif %}{% endfor %}`;

describe('what would take too long or grow too large', () => {
  for (const source of [
    '{{ range(1000000000) }}',
    '{{ range(0, 9007199254740991) }}',
    '{% for i in range(1000) %}{% for j in range(1000) %}x{% endfor %}{% endfor %}',
    '{{ "a" * 1000000000 }}',
    '{{ [0] * 1000000000 }}',
    '{{ context.big ~ context.big ~ context.big ~ context.big ~ context.big }}',
    `{{ ${'('.repeat(5000)}1`,
    `{{ ${'not '.repeat(5000)}1 }}`,
    `{{ ${'-'.repeat(5000)}1 }}`,
    `{{ a${'|upper'.repeat(6000)} }}`,
    '{% if 1 %}'.repeat(5000),
    'x'.repeat(70_000) + '{{ 1 }}',
  ]) {
    test(`template ${source.slice(0, 60)}`, () => overBudget('template', source));
  }

  for (const body of [
    'context.big | length > 1',
    'context.big | upper',
    'context.big.trim()',
    'context.big in context.texts',
    'context.list | sort',
    'context.list | sum',
    'context.map',
    'context.map | length',
    'context.map | keys',
    'context.map | values',
    'not context.map',
    'context.list == context.list | list',
    '"b" in context.big',
    'context.list | tojson',
  ]) {
    test(`the same over and over: ${body}`, () => overBudget('template', looped(body)));
  }

  for (const source of [`1 ${'+ 1 '.repeat(400)}`, `${'('.repeat(500)}1`, `${'not '.repeat(500)}1`, 'x'.repeat(3000)]) {
    test(`condition ${source.slice(0, 40)}`, () => overBudget('simple', source));
  }

  for (const source of [
    'context.list.all(i, context.list.all(j, context.list.all(k, true)))',
    'context.texts.exists(t, size(context.big) == 1)',
    'context.texts.all(t, size(context.map) > 0)',
    'context.texts.all(t, context.big.contains("b") || true)',
    'context.big.matches("(a+)+$")',
    'context.big.matches("^(a|aa)+$")',
    `${'('.repeat(500)}1`,
    `${'!'.repeat(500)}true`,
  ]) {
    test(`CEL ${source.slice(0, 60)}`, () => overBudget('cel', source));
  }
});

describe('what would reach JavaScript', () => {
  for (const source of [
    '{{ range.constructor("return process")() }}',
    '{{ context.list.constructor.constructor("return 1")() }}',
    '{{ context.map.toString() }}',
    '{{ context.map.hasOwnProperty("x") }}',
  ]) {
    test(`${source} is refused when it is read`, () => assert.throws(() => templateOf(source), ExpressionError));
  }

  for (const source of [
    '{{ context.constructor }}',
    '{{ context.__proto__ }}',
    '{{ context["__proto__"]["polluted"] }}',
    '{{ "x".__class__ }}',
    '{{ context.list.constructor }}',
    '{{ context.big.constructor }}',
    '{{ range.constructor }}',
    '{{ this }}',
    '{{ globalThis }}',
    '{{ process }}',
  ]) {
    test(`${source} is nothing`, () => assert.equal(engines.template(source), null));
  }

  test('what an agent says is data: its braces are not read again', () => {
    const machine = machineOf({
      states: {
        a: { agent: 'a', output_to_context: { said: '{{ output.content }}' }, transitions: [{ to: 'b' }] },
        b: { output_to_context: { again: 'context.said', text: 'it: {{ context.said }}' }, transitions: [{ to: 'c' }] },
        c: { type: 'final', output: { again: '{{ context.again }}', text: 'context.text' } },
      },
    });
    const content = '{{ 7 * 7 }} context.machine {% for i in range(9) %}x{% endfor %}';
    const { output } = drive(machine, {}, { agents: { a: () => ({ content }) } });
    assert.deepEqual(output, { again: content, text: `it: ${content}` });
  });
});

test('a number that is whole and has an exponent is refused as CEL that is wrong', () => {
  for (const source of ['1e309u', '1.5u', '.5u']) assert.throws(() => parseCel(source), ExpressionError);
  assert.equal(engines.cel('0xeu == 14u'), true);
});

test('a template that goes over its budget is an error of its state, which on_error can catch', () => {
  const machine = machineOf({
    states: {
      a: {
        foreach: '{{ range(1000000000) }}',
        launch: 'x',
        on_error: { TemplateError: 'b' },
        transitions: [{ to: 'a' }],
      },
      b: { type: 'final', output: { why: 'context.last_error' } },
    },
  });
  assert.deepEqual(drive(machine).output, { why: 'foreach: this takes more than 100000 steps' });
});
