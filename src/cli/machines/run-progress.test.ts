import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MachineStep } from '../../app/machines.ts';
import { RunProgress } from './run-progress.ts';

function shown(steps: readonly MachineStep[], verbose = false): readonly string[] {
  const lines: string[] = [];
  const progress = new RunProgress({
    write: (line) => lines.push(line),
    paint: (_format, text) => text,
    columns: 60,
    verbose,
  });
  for (const step of steps) progress.show(step);
  return lines;
}

const root = { executionId: 'r', depth: 0, machine: 'order', step: 1, state: 'start' };
const child = (id: string) => ({ executionId: id, depth: 1, machine: 'shipper', step: 1, state: 'pack' });

test('machines of one name are told apart, and stand under the one that called them', () => {
  assert.deepEqual(
    shown([
      { ...root, kind: 'enter' },
      {
        ...root,
        kind: 'invoke',
        children: [
          { machine: 'shipper', input: {} },
          { machine: 'shipper', input: {} },
          { machine: 'mail', input: {} },
        ],
      },
      { ...child('a'), kind: 'enter' },
      { ...child('b'), kind: 'enter' },
      { ...child('a'), kind: 'failed', type: 'Error', message: 'no box' },
    ]),
    [
      ' 1 start',
      '   machine shipper ×2, mail',
      '   shipper  1 pack',
      '   shipper#2  1 pack',
      '   shipper    failed: Error: no box',
    ],
  );
});

test('an error stands above the state that it led to, and what a machine says cannot act on the terminal', () => {
  assert.deepEqual(
    shown([
      {
        ...root,
        step: 2,
        state: 'a\u001b[2Jb',
        kind: 'enter',
        error: { type: 'TypeError', message: 'x\ny'.repeat(80) },
      },
      { ...root, kind: 'wait', channel: 'go\u001b]0;t\u0007', timeoutMs: 1500 },
    ]),
    [`   ! TypeError: ${'x y'.repeat(80).slice(0, 34)}…`, ' 2 ab', '   waits for signal go (at most 1.5 s)'],
  );
});

test('inputs, outputs and transitions are shown only to whoever asks', () => {
  const steps: readonly MachineStep[] = [
    { ...root, kind: 'agent', agent: 'writer', input: { n: 1 } },
    { ...root, kind: 'exit', output: { text: 'x' } },
    { ...root, kind: 'transition', to: 'end' },
    { ...root, kind: 'launch', children: [{ machine: 'mail', input: { to: 'a' } }] },
    { ...child('a'), kind: 'completed', output: 1 },
  ];
  assert.deepEqual(shown(steps), ['   agent writer', '   launch mail']);
  assert.deepEqual(shown(steps, true), [
    '   agent writer',
    '   input {"n":1}',
    '   = {"text":"x"}',
    '   → end',
    '   launch mail',
    '   mail with {"to":"a"}',
    '   shipper    completed 1',
  ]);
});
