/** Our evaluator beside libraries that others wrote: what both can say, both say alike. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { run } from '@bufbuild/cel';
import { Environment } from 'minijinja-js';
import { evaluateCel } from './cel/cel.ts';
import { parseCel } from './cel/parse.ts';
import { renderTemplate, templateOf } from './template/template.ts';

/** Deterministic: the same questions in every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

type Pick = <T>(some: readonly T[]) => T;
const picker =
  (random: () => number): Pick =>
  (some) =>
    some[Math.floor(random() * some.length)] as (typeof some)[number];

const scope = {
  context: { n: 7, m: 2, s: 'abc', t: 'b', list: [3, 1, 2], names: ['x', 'y'], yes: true, no: false },
  input: {},
};

describe('templates and minijinja', () => {
  const number = (pick: Pick, depth: number): string =>
    depth === 0
      ? pick([
          '1',
          '2',
          '10',
          'context.n',
          'context.m',
          'context.list[0]',
          '(context.list | length)',
          '(context.s | length)',
        ])
      : pick([
          () => `(${number(pick, depth - 1)} ${pick(['+', '-', '*'])} ${number(pick, depth - 1)})`,
          () => `(${number(pick, depth - 1)} // ${pick(['2', '3'])})`,
          // That library cannot negate a number of JavaScript.
          () => `(0 - ${number(pick, depth - 1)})`,
          () =>
            `([${number(pick, depth - 1)}, ${number(pick, depth - 1)}] | ${pick(['max', 'min', 'sum', 'first', 'last'])})`,
          () => `(${number(pick, depth - 1)} if ${truth(pick, depth - 1)} else ${number(pick, depth - 1)})`,
        ])();
  const truth = (pick: Pick, depth: number): string =>
    depth === 0
      ? pick([
          'context.yes',
          'context.no',
          'true',
          'context.missing is defined',
          '"b" in context.s',
          '1 in context.list',
        ])
      : pick([
          () => `(${number(pick, depth - 1)} ${pick(['==', '!=', '<', '<=', '>', '>='])} ${number(pick, depth - 1)})`,
          () => `(not ${truth(pick, depth - 1)})`,
          () => `(${truth(pick, depth - 1)} ${pick(['and', 'or'])} ${truth(pick, depth - 1)})`,
        ])();
  const text = (pick: Pick, depth: number): string =>
    depth === 0
      ? pick(['context.s', 'context.t', '"A b"', '"x,y"'])
      : pick([
          () => `(${text(pick, depth - 1)} | ${pick(['upper', 'lower', 'trim', 'capitalize', 'reverse'])})`,
          () => `(${text(pick, depth - 1)} | replace("b", "c"))`,
          () => `(${text(pick, depth - 1)} ~ ${text(pick, depth - 1)})`,
          () => `(context.names | join(${text(pick, depth - 1)}))`,
          () => `(${text(pick, depth - 1)})[${pick(['1:', ':1', '0:2'])}]`,
        ])();
  const block = (pick: Pick): string =>
    pick([
      () => `<{{ ${number(pick, 3)} }}>`,
      () => `<{{ ${text(pick, 3)} }}>`,
      () => `<{{ ${truth(pick, 3)} }}>`,
      () => `{% if ${truth(pick, 2)} %}${block(pick)}{% else %}-{% endif %}`,
      () =>
        `{% for x in context.list | sort %}{{ loop.index }}{{ x * ${number(pick, 1)} }}{% if not loop.last %}, {% endif %}{% endfor %}`,
      () => `{% set y = ${number(pick, 2)} %}{{ y }};`,
    ])();

  test('a thousand templates give the same text', () => {
    const environment = new Environment();
    const pick = picker(randomFrom(21));
    for (let i = 0; i < 1000; i++) {
      const source = `:${block(pick)}${block(pick)}`;
      assert.equal(renderTemplate(templateOf(source), scope), environment.renderStr(source, scope), source);
    }
  });
});

describe('CEL and @bufbuild/cel', () => {
  const int = (pick: Pick, depth: number): string =>
    depth === 0
      ? pick(['1', '2', '10', 'context.n', 'context.m', 'context.list[0]', 'size(context.list)', 'size(context.s)'])
      : pick([
          () => `(${int(pick, depth - 1)} ${pick(['+', '-', '*'])} ${int(pick, depth - 1)})`,
          () => `(${int(pick, depth - 1)} ${pick(['/', '%'])} ${pick(['2', '3', '-2'])})`,
          () => `-(${int(pick, depth - 1)})`,
          () => `(${bool(pick, depth - 1)} ? ${int(pick, depth - 1)} : ${int(pick, depth - 1)})`,
          () => `size(${list(pick, depth - 1)})`,
        ])();
  const list = (pick: Pick, depth: number): string =>
    depth === 0
      ? pick(['context.list', '[1, 2, 3]', '[]'])
      : pick([
          () => `${list(pick, depth - 1)}.filter(x, x > ${int(pick, depth - 1)})`,
          () => `${list(pick, depth - 1)}.map(x, x * ${int(pick, depth - 1)})`,
          () => `(${list(pick, depth - 1)} + [${int(pick, depth - 1)}])`,
        ])();
  const bool = (pick: Pick, depth: number): string =>
    depth === 0
      ? pick(['context.yes', 'context.no', 'true', 'has(context.n)', 'has(context.missing)', '("a" in context)'])
      : pick([
          () => `(${int(pick, depth - 1)} ${pick(['==', '!=', '<', '<=', '>', '>='])} ${int(pick, depth - 1)})`,
          () => `!${bool(pick, depth - 1)}`,
          () => `(${bool(pick, depth - 1)} ${pick(['&&', '||'])} ${bool(pick, depth - 1)})`,
          () => `${list(pick, depth - 1)}.${pick(['all', 'exists', 'exists_one'])}(x, x > ${int(pick, depth - 1)})`,
          () => `(${int(pick, depth - 1)} in ${list(pick, depth - 1)})`,
          () => `context.s.${pick(['startsWith', 'endsWith', 'contains'])}("b")`,
          () => `context.s.matches("${pick(['^a', 'c$', '[bc]+', '^(a|b)*$', 'd'])}")`,
        ])();

  test('a thousand expressions give the same value', () => {
    const pick = picker(randomFrom(22));
    const theirs = wholeNumbers(scope) as Parameters<typeof run>[1];
    for (let i = 0; i < 1000; i++) {
      const source = pick([int, bool])(pick, 3);
      const answer = run(source, theirs);
      const ours = evaluateCel(parseCel(source), scope);
      assert.equal(ours, typeof answer === 'bigint' ? Number(answer) : answer, source);
    }
  });
});

/** That library takes whole numbers as bigints. */
function wholeNumbers(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(wholeNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, wholeNumbers(item)]));
}
