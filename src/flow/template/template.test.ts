import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExpressionError } from '../expression/expression-error.ts';
import { problemIn } from '../expression/test-problem.ts';
import { renderTemplate, type TemplateMode, templateOf } from './template.ts';

const scope = {
  input: {
    max: 3,
    list: [3, 1, 2],
    name: 'Ann Lee',
    map: { b: 1, a: [1, 'x'] },
    none: null,
    yes: true,
    people: [
      { n: 'Bo', a: 3 },
      { n: 'al', a: 1 },
      { n: 'Cy', a: 3 },
    ],
  },
  context: { x: 1.5, csv: 'a,b', json: '{"k": [1]}' },
};
const render = (source: string, mode: TemplateMode = 'native'): unknown =>
  renderTemplate(templateOf(source), scope, { mode });
const refused = (source: string): ExpressionError => problemIn(source, (one) => render(one));

function all(name: string, cases: readonly (readonly [string, unknown])[]): void {
  describe(name, () => {
    for (const [source, value] of cases) {
      test(`${JSON.stringify(source)} is ${JSON.stringify(value)}`, () => assert.deepEqual(render(source), value));
    }
  });
}

all('the type of a template', [
  ['plain text', 'plain text'],
  ['line\n', 'line\n'],
  ['input.list', [3, 1, 2]],
  [' input.yes ', true],
  ['input.none', null],
  ['input.missing.deeper', null],
  ['output', null],
  ['inputs.list', 'inputs.list'],
  ['input list', 'input list'],
  ['{{ input.max }}', 3],
  ['  {{ input.map }}\n', { b: 1, a: [1, 'x'] }],
  ['{{ input.yes }}', true],
  ['{{ input.none }}', null],
  ['{{ input.missing }}', null],
  ['{{ input.max }}!', '3!'],
  ['{{ input.max }}{{ input.max }}', '33'],
  ['{{ input.list }} {{ input.map }}', '[3, 1, 2] {"b": 1, "a": [1, "x"]}'],
  ['{{ input.yes }}, {{ input.none }}, {{ input.missing }}.', 'true, none, .'],
  ['{{ range(3) }}', [0, 1, 2]],
  ['{{ range(1, 6, 2) }}', [1, 3, 5]],
  ['{{ range(3, 0, -1) }}', [3, 2, 1]],
  ['{{ [input.max - 1, 0] | max }}', 2],
  ['{{ input.none | default(10) }}', null],
  ['{{ input.none | default(10, true) }}', 10],
  ['{{ input.missing | default(10) }}', 10],
  ['{{ input.missing | default(none) }}', null],
  ['{{ input.missing | default(null) }}', null],
  ['{{ input.missing | default }}', ''],
  ['{{ missing | default("x") }}', 'x'],
]);

all('an expression of a template', [
  ['{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 7 / 2 }}', '3 -4 1 2 1024 3.5'],
  ['{{ "a" ~ 1 ~ [2] }}', 'a1[2]'],
  ['{{ "ab" * 3 }}', 'ababab'],
  ['{{ [0] * 3 }}', [0, 0, 0]],
  ['{{ [1] + [2] }}', [1, 2]],
  ['{{ "a" "b" }}', 'ab'],
  ['{{ 1 if input.max == 3 else 2 }}', 1],
  ['{{ 1 if input.max == 4 }}', null],
  ['{{ "abc"[1] }}{{ "abc"[1:] }}{{ "abc"[::-1] }}{{ [1, 2, 3][:-1] }}', 'bbccba[1, 2]'],
  ['{{ {"a": {"b": 1}} }}', { a: { b: 1 } }],
  ['{{ {"a": {"b": 1}}.a.b }}', 1],
  ['{{ (1, 2) }}', [1, 2]],
  ['{{ () }}', []],
  ['{{ -1 | abs }}', 1],
  ['{{ 3 in input.list and "A" in input.name }}', true],
  [
    '{{ input.missing is defined }} {{ input.none is none }} {{ 3 is odd }} {{ 4 is divisibleby 2 }}',
    'false true true true',
  ],
  [
    '{{ input.map is mapping }} {{ input.list is sequence }} {{ "x" is string }} {{ 1 is not number }}',
    'true true true false',
  ],
  ['{{ input.name.split(" ") }}', ['Ann', 'Lee']],
  ['{{ " x ".strip() ~ "x".upper() ~ "a-b".replace("-", "+") }}', 'xXa+b'],
  [
    '{{ input.map.items() }}',
    [
      ['b', 1],
      ['a', [1, 'x']],
    ],
  ],
  ['{{ input.map.get("nope", 5) }}', 5],
  ['{{ ", ".join(["a", 1]) }}', 'a, 1'],
  ['{{ dict(a=1, b=2) }}', { a: 1, b: 2 }],
  ["{{ 'it\\'s' }}", "it's"],
]);

all('a filter', [
  ['{{ input.name | upper }}|{{ input.name | lower | title }}|{{ "aB c" | capitalize }}', 'ANN LEE|Ann Lee|Ab c'],
  ['{{ "  x " | trim }}{{ "xxaxx" | trim("x") }}', 'xa'],
  ['{{ input.name | replace("n", "m") }}|{{ "aaa" | replace("a", "b", 2) }}', 'Amm Lee|bba'],
  ['{{ context.csv | split(",") }}', ['a', 'b']],
  ['{{ input.list | sort }}', [1, 2, 3]],
  ['{{ input.list | sort(reverse=true) | join("-") }}', '3-2-1'],
  ['{{ input.people | sort(attribute="n") | map(attribute="n") | join }}', 'alBoCy'],
  ['{{ input.people | selectattr("a", "eq", 3) | map(attribute="n") | list }}', ['Bo', 'Cy']],
  ['{{ input.people | rejectattr("a", "eq", 3) | map(attribute="n") | first }}', 'al'],
  ['{{ input.list | select("odd") | list }}', [3, 1]],
  ['{{ input.list | reject("odd") | list }}', [2]],
  ['{{ ["a", "b"] | map("upper") | list }}', ['A', 'B']],
  [
    '{{ input.people | groupby("a") }}',
    [
      [1, [{ n: 'al', a: 1 }]],
      [
        3,
        [
          { n: 'Bo', a: 3 },
          { n: 'Cy', a: 3 },
        ],
      ],
    ],
  ],
  [
    '{{ input.people | sum("a") }} {{ input.list | sum }} {{ input.list | min }} {{ input.people | max(attribute="a") | attr("n") }}',
    '7 6 1 Bo',
  ],
  ['{{ [1, 2, 1, "A", "a"] | unique }}', [1, 2, 'A']],
  ['{{ input.list | first }}{{ input.list | last }}{{ input.list | length }}{{ input.name | length }}', '3237'],
  ['{{ input.list | reverse }}', [2, 1, 3]],
  ['{{ "abc" | reverse }}{{ "abc" | list }}', 'cba["a", "b", "c"]'],
  [
    '{{ [1, 2, 3] | batch(2, 0) }}',
    [
      [1, 2],
      [3, 0],
    ],
  ],
  ['{{ [1, 2, 3] | slice(2) }}', [[1, 2], [3]]],
  [
    '{{ input.map | dictsort }}',
    [
      ['a', [1, 'x']],
      ['b', 1],
    ],
  ],
  ['{{ input.map | keys }} {{ {"a": 1} | values }} {{ {"a": 1} | items }}', '["b", "a"] [1] [["a", 1]]'],
  ['{{ input.map | tojson }}', '{"b":1,"a":[1,"x"]}'],
  ['{{ input.map | dump }} {{ [1] | dump(2) }}', '{"b":1,"a":[1,"x"]} [\n  1\n]'],
  ['{{ (context.json | fromjson).k[0] }}', 1],
  ['{{ "12" | int + 1 }}{{ "x" | int }}{{ "1.5" | float }}{{ 3.7 | int }}', '1301.53'],
  ['{{ 3.14159 | round(2) }} {{ 2.5 | round }} {{ 2.1 | round(0, "ceil") }}', '3.14 3 3'],
  ['{{ "<b>" | e }}{{ "<b>" | safe }}{{ "a b" | urlencode }}', '&lt;b&gt;<b>a%20b'],
  ['{{ "hello wide world" | truncate(10) }}', 'hello...'],
  ['{{ "a\nb" | indent(2) }}', 'a\n  b'],
  ['{{ "a b c" | wordcount }}', 3],
  ['{{ "a" | center(4) }}|', ' a  |'],
  ['{{ "%s: %d of %.2f, %%" | format("x", 3.7, 1.5) }}', 'x: 3 of 1.50, %'],
  ['{{ " <p>a\n <b>c</b></p>" | striptags }}', 'a c'],
]);

all('a block', [
  ['{% if input.max > 2 %}yes{% else %}no{% endif %}', 'yes'],
  ['{% if input.max > 5 %}a{% elif input.max == 3 %}b{% else %}c{% endif %}', 'b'],
  ['{% if input.missing %}a{% endif %}', ''],
  ['{% for x in input.list %}{{ loop.index }}:{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}', '1:3, 2:1, 3:2'],
  ['{% for k, v in input.map | items %}{{ k }}={{ v }};{% endfor %}', 'b=1;a=[1, "x"];'],
  ['{% for x in [] %}x{% else %}none{% endfor %}', 'none'],
  ['{% for x in input.list if x > 1 %}{{ loop.index0 }}{{ x }}{% endfor %}', '0312'],
  ['{% for x in input.list %}{{ loop.cycle("a", "b") }}{% endfor %}', 'aba'],
  ['{% for x in [1, 2] %}{% for y in [1, 2] %}{{ x * y }}{% endfor %}{% endfor %}', '1224'],
  ['{% set y = 4 %}{{ y + 1 }}', '5'],
  ['{% set a, b = [1, 2] %}{{ b }}{{ a }}', '21'],
  ['{% set y %}<{{ input.max }}>{% endset %}{{ y }}{{ y }}', '<3><3>'],
  ['{% set y = 1 %}{% for x in [1] %}{% set y = 2 %}{% endfor %}{{ y }}', '1'],
  ['a {#- a comment -#} b', 'ab'],
  ['{% raw %}{{ not this }}{% endraw %}', '{{ not this }}'],
  ['a  {%- if true -%}  b  {%- endif -%}  c', 'abc'],
  ['a  {{- input.max -}}  b', 'a3b'],
  ['{{ input.max }}\n', 3],
  ['x{{ input.max }}\n', 'x3'],
]);

describe('template_mode v0', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['{{ input.max }}', 3],
    ['{{ "12" }}', 12],
    ['1{{ input.max }}', 13],
    ['{{ "007" }}', '007'],
    ['{{ "true" }}', true],
    ['{{ "null" }}', null],
    ['{{ input.name }}', 'Ann Lee'],
    ['[{{ input.max }}]', [3]],
    ['12', '12'],
  ];
  for (const [source, value] of cases) {
    test(`${source} is ${JSON.stringify(value)}`, () => assert.deepEqual(render(source, 'v0'), value));
  }
});

all('a namespace', [
  [
    '{% set ns = namespace(found=0) %}{% for p in input.people %}{% if p.a == 3 %}{% set ns.found = ns.found + 1 %}{% endif %}{% endfor %}{{ ns.found }}',
    '2',
  ],
  ['{% set ns = namespace() %}{% set ns.a = 1 %}{% set ns.b %}x{{ ns.a }}{% endset %}{{ ns.b }}', 'x1'],
  ['{% set n = 0 %}{% for i in [1, 2] %}{% set n = n + i %}{% endfor %}{{ n }}', '0'],
]);

all('with', [
  ['{% with a = 1, b = input.max %}{{ a }}{{ b }}{% endwith %}{{ a }}', '13'],
  ['{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}', '1false'],
]);

describe('a template that is wrong', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['{{ 1', /expected "}}", found the end/],
    ['{{ 1 2 }}', /expected "}}", found "2"/],
    ['{{ }}', /expected a value/],
    ['{% if true %}x', /not closed: expected {% endif %}/],
    ['{% for x in [1] %}x{% endif %}', /expected {% endfor %}, found "endif"/],
    ['x{% endif %}', /"endif" closes nothing/],
    ['{% else %}', /"else" closes nothing/],
    ['{% macro x() %}{% endmacro %}', /no statement "macro"; there are for, if, raw, set, with/],
    ['{% include "x" %}', /no statement "include"/],
    ['{{ x | nope }}', /no filter "nope"; there are abs, [a-z, ]+, and \d+ more$/],
    ['{% set input.max = 1 %}', /"input" is no namespace/],
    ['{% set m = {} %}{% set m.a = 1 %}', /"m" is no namespace/],
    ['{% with a %}{% endwith %}', /expected "="/],
    ['{% with a = 1 %}', /expected {% endwith %}/],
    ['{# open', /not closed: expected "#}"/],
    ['{% raw %}x', /expected {% endraw %}/],
    ['{% for x of y %}{% endfor %}', /expected "in", found "of"/],
    ['{{ x is nope }}', /no test "nope"/],
    ['{{ nope(1) }}', /no function "nope"/],
    ['{% for a, b in [1] %}{% endfor %}', /expected a list of 2 for a, b, found a number/],
    ['{{ [1, "a"] | sort }}x', /have no order/],
    ['{{ "x" | fromjson }}', /not JSON/],
    ['{{ {[1]: 1} }}', /a key is a text/],
  ];
  for (const [source, message] of cases) {
    test(`${source} is refused`, () => assert.match(refused(source).message, message));
  }
});

describe('a hostile template', () => {
  test('reaches no JavaScript', () => {
    assert.match(refused('{{ range.constructor("return 1")() }}').message, /no method "constructor"/);
    assert.match(refused('{{ "".constructor.constructor("return process")() }}').message, /no method "constructor"/);
    assert.match(refused('{{ input["constructor"]("x") }}').message, /not a function/);
    assert.equal(render('{{ input.__proto__ }}{{ input.constructor }}{{ input | attr("__proto__") }}.'), '.');
    assert.equal(render('{{ {"__proto__": {"polluted": 1}}.polluted }}'), null);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });

  const cases: readonly (readonly [name: string, source: string, bound: RegExp])[] = [
    ['a range', '{{ range(1000000000) }}', /100000 steps/],
    ['a list repeated', '{{ [1] * 100000000 }}', /4000000 characters or items/],
    ['a text repeated', '{{ "x" * 100000000 }}', /4000000 characters/],
    ['loops in loops', '{% for a in range(999) %}{% for b in range(999) %}x{% endfor %}{% endfor %}', /steps/],
    ['a text that doubles', `{% set a = "xxxxxxxxxx" %}${'{% set a = a ~ a %}'.repeat(30)}{{ a }}`, /characters/],
    [
      'a list that doubles',
      `{% set a = [1, 2] %}${'{% set a = a + a %}'.repeat(30)}{{ a | length }}`,
      /characters or items|steps/,
    ],
    [
      'a list in itself, printed',
      `{% set a = [1, 2] %}${'{% set a = [a, a] %}'.repeat(25)}{{ a }}`,
      /steps|characters/,
    ],
    ['replaced by more', '{{ ("x" * 5000) | replace("x", "y" * 5000) }}', /characters/],
    ['joined by much', '{{ range(5000) | join("y" * 5000) }}', /characters/],
    ['indented far', '{{ "x" | indent(1000000000) }}', /characters/],
    ['a batch filled up', '{{ [1] | batch(1000000000, 1) }}', /characters or items/],
    ['many slices', '{{ [1] | slice(1000000000) }}', /characters or items/],
    ['parentheses', `{{ ${'('.repeat(5000)}1${')'.repeat(5000)} }}`, /nested more than 32/],
    ['blocks in blocks', '{% if 1 %}'.repeat(500), /nested more than 32/],
    ['many parts', '{{ 1 }}'.repeat(9000), /more than 5000 parts|longer than/],
    ['much source', 'x{{ 1 }}'.repeat(9000), /longer than 65536/],
    ['signs', `{{ ${'-'.repeat(5000)}1 }}`, /nested more than 32/],
  ];
  for (const [name, source, bound] of cases) {
    test(`${name} is stopped by a budget`, () => {
      const error = refused(source);
      assert.match(error.message, bound);
      assert.equal(error.overBudget, true);
    });
  }

  test('what an agent said is data, and is not read as a template again', () => {
    const said = { input: { said: '{{ context.secret }}' }, context: { secret: 's3cret' } };
    assert.equal(renderTemplate(templateOf('{{ input.said }}'), said), '{{ context.secret }}');
    assert.equal(renderTemplate(templateOf('> {{ input.said }}'), said), '> {{ context.secret }}');
  });

  test('a number that is too large is refused', () => {
    assert.match(refused('{{ 9 ** 9999 }}').message, /too large/);
  });
});
