import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { isList, isMap, type Value, type ValueMap } from '../../expression/values.ts';
import { readMachine } from '../read-machine.ts';
import { machineSchema } from './machine-schema.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const schema = z.fromJSONSchema(machineSchema as Parameters<typeof z.fromJSONSchema>[0]);
const accepts = (value: Value): boolean => schema.safeParse(value).success;

const parsed = (file: string): Value => parse(readFileSync(join(ROOT, file), 'utf8')) as Value;
/** Agents and profiles of examples stand beside their machines. */
const FILES = globSync(['machines/*.yml', 'examples/machines/**/*.yml'], { cwd: ROOT })
  .filter((file) => (parsed(file) as ValueMap)['spec'] === 'flatmachine')
  .toSorted();

/** Every field of the language, each in a form that is right. */
const FULL = parse(`
spec: flatmachine
spec_version: "4.2.1"
metadata: { any: thing }
data:
  name: full
  description: all of it
  expression_engine: cel
  context: { n: 1, list: [1, "{{ input.n }}"] }
  agents: { a: ./a.yml, b: { spec: flatagent }, c: { type: smolagents, ref: x } }
  machines: { m: ./m.yml, p: { path: ./p.yml } }
  profiles: ./profiles.yml
  settings: { max_steps: 10, max_depth: 3, max_agent_calls: 9, parallel_fallback: error, template_mode: v0, children: inline, heartbeat_interval: 30, worker_pool: p, backends: {}, own: 1 }
  persistence: { enabled: true, backend: local, checkpoint_on: [execute] }
  lifecycle_hooks: [logging, { name: webhook, args: { url: x } }]
  hooks: { file: ./hooks.js, class: Mine, args: {} }
  states:
    start:
      type: initial
      action: act
      launch: [m, p]
      launch_input: { a: 1 }
      machine: [m, { name: p, input: { b: 2 } }]
      mode: any
      losers: keep
      on_child_error: fail
      timeout: "{{ input.t }}"
      agent: a
      execution: { type: retry, backoffs: [1, 2], jitter: 0.1 }
      tool_loop: { max_turns: 3 }
      sampling: multi
      session_id: "{{ input.id }}"
      input: { x: "{{ context.n }}" }
      output_to_context: { y: output }
      on_error: { TimeoutError: each, default: end }
      hooks: logging
      transitions: [{ condition: "context.n > 0", to: each }, { condition: true, to: end, description: why }]
    each:
      foreach: "{{ input.items }}"
      as: one
      key: "{{ one.id }}"
      machine: m
      tool_loop: false
      on_error: end
      transitions: [{ to: wait }]
    wait: { wait_for: "go/{{ input.id }}", timeout: 3, transitions: [{ to: end }] }
    end: { type: final, output: { y: context.y } }
`) as ValueMap;

/** Everything that is one change away: a value of another kind, a missing field, one more field. */
function* changesOf(
  value: Value,
  path: string,
  rebuild: (value: Value) => Value,
): Generator<readonly [what: string, value: Value]> {
  for (const other of [1, 'text', true, [], [[]], {}, { odd: 1 }, null, -1]) {
    yield [`${path} = ${JSON.stringify(other)}`, rebuild(other)];
  }
  if (isMap(value)) {
    yield [`${path}.unheard_of`, rebuild({ ...value, unheard_of: 1 })];
    for (const [key, inner] of Object.entries(value)) {
      const { [key]: _gone, ...rest } = value;
      yield [`${path} without ${key}`, rebuild(rest)];
      yield* changesOf(inner, `${path}.${key}`, (changed) => rebuild({ ...value, [key]: changed }));
    }
  }
  if (isList(value)) {
    for (const [i, inner] of value.entries()) {
      yield* changesOf(inner, `${path}[${i}]`, (changed) => rebuild(value.with(i, changed)));
    }
  }
}

describe('the JSON schema of machines', () => {
  test('takes every machine that comes with leasehold, and every example', () => {
    assert.ok(FILES.length >= 12);
    for (const file of FILES) {
      const value = parsed(file);
      assert.deepEqual(schema.safeParse(value).error?.issues ?? [], [], file);
      assert.deepEqual(readMachine(value, { strict: true }).problems, [], file);
    }
  });

  test('takes a machine that uses every field, as the strict reader does', () => {
    assert.deepEqual(schema.safeParse(FULL).error?.issues ?? [], []);
    assert.deepEqual(readMachine(FULL, { strict: true }).problems, []);
  });

  test('takes bounds beside settings, which published machines have; the strict reader warns of them', () => {
    const states = { a: { type: 'final' } };
    assert.ok(accepts({ spec: 'flatmachine', spec_version: '2.5.0', data: { max_steps: 500, max_depth: 3, states } }));
    assert.ok(!accepts({ spec: 'flatmachine', spec_version: '2.5.0', data: { max_steps: [], states } }));
  });

  test('refuses nothing that the strict reader takes', () => {
    let refused = 0;
    const taken: string[] = [];
    for (const [what, changed] of changesOf(FULL, 'machine', (value) => value)) {
      if (accepts(changed)) continue;
      refused++;
      if (readMachine(changed, { strict: true }).problems.length === 0) taken.push(what);
    }
    assert.deepEqual(taken, []);
    assert.ok(refused > 300, `it refuses ${refused} of them`);
  });
});

test('the reference page has a row for every field of the schema, and no other', () => {
  const page = readFileSync(join(ROOT, 'docs/reference/machines.md'), 'utf8');
  const fieldsIn = (heading: string): readonly string[] => {
    const section = page.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
    const [table = ''] = /^\| field [^]*?\n\n/m.exec(section) ?? [];
    return [...table.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map((found) => found[1] as string),
    );
  };
  type Node = { readonly properties: Readonly<Record<string, Node>>; readonly $defs: Readonly<Record<string, Node>> };
  const top = machineSchema as unknown as Node;
  const namesOf = ({ properties }: Node): readonly string[] =>
    Object.keys(properties)
      .filter((name) => name !== '$schema')
      .sort();
  const data = top.properties['data'] as Node;
  for (const [heading, node] of [
    ['The file', top],
    ['`data`', data],
    ['`settings`', data.properties['settings'] as Node],
    ['A state', top.$defs['state'] as Node],
  ] as const) {
    assert.deepEqual([...fieldsIn(heading)].sort(), namesOf(node), heading);
  }
});
