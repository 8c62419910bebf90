import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contextProblem, noteWrite, totalWith } from './sizes.ts';
import { drive, machineOf } from './test-driver.ts';

describe('what a machine gathers has a bound', () => {
  const states = (entries: object, max: number): object => ({
    a: {
      output_to_context: { ...entries, n: '{{ (context.n or 0) + 1 }}' },
      on_error: 'full',
      transitions: [{ condition: `context.n >= ${max}`, to: 'done' }, { to: 'a' }],
    },
    done: { type: 'final', output: { n: '{{ context.n }}' } },
    full: { type: 'final', output: { type: '{{ context.last_error_type }}', why: '{{ context.last_error }}' } },
  });
  const endOf = (entries: object, context: object = { x: [1] }): unknown =>
    drive(machineOf({ settings: { max_steps: 1000 }, context, states: states(entries, 900) }), {}).output;
  const large = (field: string) => ({
    type: 'ValueTooLarge',
    why: `${field}: it has more than 16777216 characters and items`,
  });

  test('also when it is small, and doubles what it holds at each step', () => {
    assert.deepEqual(endOf({ x: '{{ [context.x, context.x] }}' }), large('output_to_context.x'));
    assert.deepEqual(endOf({ x: ['{{ context.x }}', '{{ context.x }}'] }), large('output_to_context.x'));
  });

  test('for the whole context', () => {
    const entries = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, '{{ context.x }}']));
    assert.deepEqual(endOf(entries, { x: 'x'.repeat(1024 * 1024) }), large('context'));
  });

  test('and for its depth', () => {
    assert.deepEqual(endOf({ x: ['{{ context.x }}'] }), {
      type: 'ValueTooLarge',
      why: 'output_to_context.x: lists and maps are nested more than 100 deep',
    });
  });

  test('but a context that stays the same may be passed on for ever', () => {
    assert.deepEqual(endOf({ x: '{{ context.x }}', y: { was: '{{ context.x }}' } }), { n: 900 });
  });

  test('and actions, hooks and agents cannot put more into it', () => {
    const much = { much: 'x'.repeat(17 * 1024 * 1024) };
    const after = { transitions: [{ to: 'done' }], on_error: 'full' };
    const { done, full } = states({}, 1) as Record<'done' | 'full', object>;
    const ended = (state: object, answers: Parameters<typeof drive>[2]): unknown => {
      const machine = machineOf({ agents: { it: {} }, states: { a: { ...state, ...after }, done, full } });
      return drive(machine, {}, answers).output;
    };
    assert.deepEqual(ended({ action: 'it' }, { actions: { it: () => much } }), large('context'));
    assert.deepEqual(
      ended({}, { hooks: { on_state_enter: (one) => ('state' in one && one.state === 'a' ? much : null) } }),
      large('context'),
    );
    assert.deepEqual(ended({ agent: 'it' }, { agents: { it: () => ({ output: much }) } }), large('output'));
    assert.deepEqual(ended({ agent: 'it' }, { agents: { it: () => ({ context: much }) } }), large('context'));
  });
});

test('the size of a context follows what is written to it, entry by entry', () => {
  const context: Record<string, unknown> = { a: 'x'.repeat(10), b: [1, 2] };
  assert.equal(contextProblem(context), undefined);
  const total = totalWith(context, 'a', 'y'.repeat(16 * 1024 * 1024));
  const own = { ...context, a: 'y'.repeat(16 * 1024 * 1024) };
  noteWrite(own, total);
  assert.match(contextProblem(own) ?? '', /more than/);
  assert.equal(contextProblem(own, 'a', 1), undefined);
  assert.equal(totalWith(own, 'a', 'x'.repeat(10)), totalWith(context, 'a', 'x'.repeat(10)));
});
