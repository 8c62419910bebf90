/** Machines of strangers: YAML, templates, conditions and CEL that are nearly right. Each is read or refused in its own way, and ends soon. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../src/core/errors.ts';
import { evaluateCel } from '../../src/flow/cel/cel.ts';
import { parseCel } from '../../src/flow/cel/parse.ts';
import { evaluateCondition, parseCondition } from '../../src/flow/expression/condition.ts';
import { ExpressionError } from '../../src/flow/expression/expression-error.ts';
import { readMachine } from '../../src/flow/machine/read-machine.ts';
import { parseMachineText } from '../../src/flow/machine/text/machine-text.ts';
import { renderTemplate, templateOf } from '../../src/flow/template/template.ts';
import type { Rng } from '../sim/rng.ts';
import { fuzz } from './fuzzing.ts';
import { mutate } from './mutate.ts';

const MACHINE = `spec: flatmachine
spec_version: "4.2.1"
data:
  name: m
  context: { n: "{{ input.n | default(1) }}", list: [1, 2] }
  settings: { max_steps: 9 }
  hooks: [logging, { name: x, args: { a: 1 } }]
  machines: { child: ./c.yml }
  base: &base { type: retry, backoffs: [1, 2] }
  states:
    start:
      type: initial
      execution: { <<: *base, jitter: 0 }
      foreach: "{{ range(3) }}"
      as: one
      key: "k{{ one }}"
      machine: [{ name: child, input: { n: "{{ one }}" } }]
      on_error: { TimeoutError: end, default: end }
      transitions:
        - condition: "context.n >= 3 and not context.list | length == 0"
          to: end
        - to: start
    end: { type: final, output: { n: context.n } }
`;
const TEMPLATES = [
  '{% for i in range(3) if i > 0 %}{{ loop.index }}:{{ i | string | upper }}{% else %}none{% endfor %}',
  "{{ (context.list | map('int') | sort | first) + context.n * 2 ** 3 // 2 }}",
  "{% set x = {'a': [1, 2], 'b': none} %}{% if x.a[0:1] is defined and 'a' in x %}{{ x | tojson }}{% elif y %}{% endif %}",
  "{{ context.text.split(',') | join('-') ~ 'x' if context.n is odd else context['map'].k }}{# c #}{%- raw %}{{{% endraw -%}",
];
const CONDITIONS = [
  'context.n >= 3 and (not context.list | length == 0 or context.map["k"] != null)',
  "context.text == 'a,b' or 1 < context.n <= 3 + 2 * -1 and len(context.list) > 0",
];
const CEL = [
  'context.list.all(i, i > 0) && has(context.map.k) ? size(context.text) > 1 : context.n in [1, 2]',
  'context.text.matches("^[a-z,]+(b|c)*$") || timestamp("2026-01-01T00:00:00Z") < now - duration("24h")',
  '{"a": 1u, "b": b"x"}.a == 1u && [1, 2].map(x, x * 2).exists_one(y, y == 4)',
];
const scope = { context: { n: 1, list: [1, 2, 3], map: { k: 'v' }, text: 'a,b' }, input: {}, output: null };

async function fuzzed(
  t: TestContext,
  good: readonly string[],
  read: (text: string, rng: Rng) => unknown,
): Promise<void> {
  const before = process.memoryUsage().rss;
  const tries = await fuzz(t, (rng) => read(mutate(rng, rng.pick(good)), rng));
  assert.ok(tries > 0);
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
  assert.ok(grown < 400, `it has grown by ${grown.toFixed()} MiB`);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
}

/** What is wrong is said in the one way of the language. */
function judged(work: () => unknown): void {
  try {
    JSON.stringify(work());
  } catch (error) {
    if (!(error instanceof ExpressionError) && !isEngineError(error)) throw error;
  }
}

test('fuzz: machines in YAML', (t) =>
  fuzzed(t, [MACHINE], (text, rng) =>
    judged(() => readMachine(parseMachineText(text, 'm.yml').value, { strict: rng.chance(0.5) }).problems),
  ));

test('fuzz: templates', (t) =>
  fuzzed(t, TEMPLATES, (text, rng) =>
    judged(() => renderTemplate(templateOf(text), scope, { mode: rng.pick(['native', 'v0', 'early'] as const) })),
  ));

test('fuzz: conditions', (t) =>
  fuzzed(t, CONDITIONS, (text) => judged(() => evaluateCondition(parseCondition(text), scope))));

test('fuzz: CEL', (t) => fuzzed(t, CEL, (text) => judged(() => evaluateCel(parseCel(text), scope, { now: 0 }))));
