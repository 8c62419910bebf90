import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { actedResults, withResult } from './acted-items.ts';
import { begin, type MachineWorld, reduce, start } from './reduce.ts';
import type { Snapshot } from './snapshot.ts';
import { machineOf } from './test-driver.ts';

const world: MachineWorld = { now: 0, hooked: () => false };
const machine = machineOf({
  states: {
    each: {
      foreach: '{{ range(1000) }}',
      action: 'x',
      output_to_context: { all: 'output' },
      transitions: [{ to: 'end' }],
    },
    end: { type: 'final', output: { all: 'context.all' } },
  },
});
const acted = (snapshot: Snapshot, value: unknown): Snapshot =>
  reduce(machine, snapshot, { kind: 'acted', value, same: false }, world).snapshot;

describe('results of a state that acts for each item', () => {
  test('are copied once, however many there are', () => {
    let { snapshot } = start(machine, begin(machine, { executionId: 'run', input: {} }), world);
    const lists = new Set<unknown>();
    for (let i = 0; i < 1000; i++) {
      snapshot = acted(snapshot, i);
      if (snapshot.state === 'each') lists.add(snapshot.results);
    }
    assert.equal(lists.size, 1);
    const numbers = Array.from({ length: 1000 }, (_, i) => i);
    assert.deepEqual(snapshot.end, { kind: 'completed', output: { all: numbers } });
  });

  test('of a snapshot stay what they were, whatever came after it', () => {
    const { snapshot } = start(machine, begin(machine, { executionId: 'run', input: {} }), world);
    const one = acted(snapshot, 'a');
    const two = acted(one, 'b');
    const other = acted(one, 'c');
    const third = acted(two, 'd');
    assert.deepEqual([one, two, other, third].map(actedResults), [['a'], ['a', 'b'], ['a', 'c'], ['a', 'b', 'd']]);
    const read = JSON.parse(JSON.stringify(one)) as Snapshot;
    assert.deepEqual(actedResults(acted(read, 'e')), ['a', 'e']);
  });

  test('of a snapshot without a count are all that it has, and what comes from outside is not written to', () => {
    const given = Object.freeze(['a']);
    assert.deepEqual(withResult({ results: given }, 'b'), { results: ['a', 'b'], acted: 2 });
  });
});
