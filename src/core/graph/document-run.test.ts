import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFlaw } from './document.ts';
import { type DocumentStatus, type DocumentWithStatus, planRun, type RunPlan } from './document-run.ts';
import { findCircle } from './graph.ts';

/** `a<b:failed/1 c d?`: below `b`, failed, priority 1, depends on `c` and, whatever its end, on `d`. Default: new, priority 2. */
function tree(...texts: readonly string[]): readonly DocumentWithStatus[] {
  return texts.map((text) => {
    const [head = '', ...needs] = text.split(' ');
    const [, id = '', , parent, , status = 'new', , priority = '2'] =
      /^([^<:/]+)(<([^:/]+))?(:([^/]+))?(\/(\d))?$/.exec(head) ?? [];
    const dependencies = needs.map((need) => ({ id: need.replace('?', ''), required: !need.endsWith('?') }));
    return { id, parent, status: status as DocumentStatus, priority: Number(priority), dependencies };
  });
}

/** The plan as `a: b c?` for each document that runs, in the order of the tree. */
function said(plan: RunPlan): readonly string[] {
  if (!plan.ok) return [`${plan.why} ${plan.id}${plan.why === 'unmet' ? ` ${plan.on}` : ''}`];
  return plan.runs.map(({ id, after }) =>
    `${id}: ${after.map((need) => `${need.id}${need.optional ? '?' : ''}`).join(' ')}`.trim(),
  );
}

const plan = (from: string, ...texts: readonly string[]): readonly string[] => said(planRun(tree(...texts), from));

test('a parent runs after its children, whatever their end, and dependencies run before their dependents', () => {
  assert.deepEqual(plan('r', 'r', 'a<r', 'b<r a', 'c<r b?'), ['r: a? b? c?', 'a:', 'b: a', 'c: b?']);
  assert.deepEqual(plan('r', 'r a', 'a<r'), ['r: a', 'a:'], 'what it needs besides must have completed');
  assert.deepEqual(plan('r', 'r a?', 'a<r'), ['r: a?', 'a:']);
  assert.deepEqual(plan('r', 'r a a?', 'a<r'), ['r: a', 'a:'], 'what is needed once is needed');
});

test('children run by priority, one group after the other', () => {
  assert.deepEqual(plan('r', 'r', 'c<r/3', 'a<r/0', 'b<r/1', 'd<r/1'), [
    'r: c? a? b? d?',
    'c: b? d?',
    'a:',
    'b: a?',
    'd: a?',
  ]);
});

test('a group does not wait for a document that waits for others, nor for one with such a document below it', () => {
  assert.deepEqual(plan('r', 'r', 'a<r/0 b', 'b<r/1'), ['r: a? b?', 'a: b', 'b:']);
  assert.deepEqual(plan('r', 'r', 'a<r/0', 'x<a b', 'b<r/1'), ['r: a? b?', 'a: x?', 'x: b', 'b:']);
  assert.deepEqual(plan('r', 'r', 'a<r/0', 'x<a', 'y<a x', 'b<r/1').at(-1), 'b: a?', 'within itself it may wait');
  assert.deepEqual(
    plan('r', 'r', 'a<r/0', 'b<r/1 a', 'c<r/2').at(-1),
    'c: a?',
    'the group before that one is waited for',
  );
});

test('a document runs with everything below it and their dependencies, and nothing else', () => {
  assert.deepEqual(plan('b', 'r', 'a<r', 'b<r a', 'c<b d', 'd<r', 'e<r b'), ['a:', 'b: c? a', 'c: d', 'd:']);
});

test('failed documents run again, completed ones only when they depend on those', () => {
  assert.deepEqual(
    plan('r', 'r:completed', 'a<r:completed', 'b<r:failed a', 'c<r:completed b', 'd<r:completed c?', 'e<r:completed'),
    ['b: a', 'c: b', 'd: c?'],
  );
  assert.deepEqual(plan('r', 'r:completed a', 'a<r:failed'), ['a:', 'r: a']);
});

test('a cancelled document stays cancelled: its dependents fail, or are refused if it never ran', () => {
  assert.deepEqual(plan('r', 'r', 'a<r:cancelled', 'b<r a'), ['r: b?', 'b: a']);
  assert.deepEqual(plan('r', 'r', 'a<r:dropped', 'b<r a'), ['unmet b a']);
  assert.deepEqual(plan('r', 'r', 'a<r:dropped', 'b<r a?'), ['r: b?', 'b:']);
});

test('nothing starts while a part of the tree runs, or when there is nothing to run', () => {
  for (const status of ['ready', 'running', 'scheduled', 'waiting']) {
    assert.deepEqual(plan('r', 'r', 'a<r', `b<r:${status}`), ['running b']);
    assert.deepEqual(plan('a', 'r', 'a<r', `b<r:${status}`), ['running b']);
  }
  assert.deepEqual(plan('r', 'r:completed', 'a<r:completed'), ['done r']);
  assert.deepEqual(plan('r', 'r:cancelled', 'a<r'), ['cancelled r']);
  assert.deepEqual(plan('r', 'r:dropped'), ['cancelled r']);
  assert.deepEqual(plan('r', 'r:fixed'), ['fixed r']);
  assert.deepEqual(plan('x', 'r'), ['done x']);
});

test('a plan of any tree has no cycle', () => {
  let seed = 7;
  const next = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  let planned = 0;
  for (let round = 0; round < 4000; round++) {
    const size = 2 + next(9);
    const nodes = Array.from({ length: size }, (_, i): DocumentWithStatus => {
      const needs = next(4) === 0 ? 2 : next(2);
      const dependencies = Array.from({ length: needs }, () => ({ id: `${next(size)}`, required: next(2) === 0 }));
      const status = (['new', 'new', 'new', 'failed', 'completed', 'cancelled', 'dropped'] as const)[
        next(7)
      ] as DocumentStatus;
      return { id: `${i}`, parent: i === 0 ? undefined : `${next(i)}`, dependencies, priority: next(4), status };
    });
    if (findFlaw(nodes) !== undefined) continue;
    const made = planRun(nodes, `${next(size)}`);
    if (!made.ok) continue;
    planned++;
    const places = new Map(made.runs.map(({ id }, i) => [id, i]));
    const edges = made.runs.map(({ after }) => ({ after: after.flatMap(({ id }) => places.get(id) ?? []) }));
    assert.equal(findCircle(edges), undefined, JSON.stringify(nodes));
  }
  assert.ok(planned > 200, `${planned} plans`);
});
