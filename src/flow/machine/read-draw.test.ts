import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMachine } from './read-machine.ts';

const read = (draw: unknown) =>
  readMachine({ spec: 'flatmachine', spec_version: '2.0.0', data: { states: { a: { type: 'final', draw } } } });

test('a state says what a call of its agent may cost, with money in dollars', () => {
  const { machine, problems } = read({ tokens: 100.5, money: 0.25, calls: 1, ms: 0 });
  assert.deepEqual(problems, []);
  assert.deepEqual(machine?.states.get('a')?.draw, [
    { unit: 'tokens', amount: 101 },
    { unit: 'money', amount: 250_000 },
    { unit: 'calls', amount: 1 },
    { unit: 'ms', amount: 0 },
  ]);
  assert.deepEqual(read(undefined).machine?.states.get('a')?.draw, []);
});

test('a draw of an unknown unit, below zero or of no number is an error', () => {
  for (const draw of [{ gold: 1 }, { tokens: -1 }, { tokens: 'many' }, { tokens: Number.NaN }, [1], 5]) {
    const { problems } = read(draw);
    assert.equal(problems[0]?.level, 'error', JSON.stringify(draw));
    assert.equal(problems[0]?.path.slice(0, 4).join('.'), 'data.states.a.draw');
  }
});
