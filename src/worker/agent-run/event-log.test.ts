import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualWorld } from '../../store/conformance/kit/virtual-world.ts';
import { EventLog } from './event-log.ts';

function rig() {
  const world = new VirtualWorld();
  const lines: string[] = [];
  const progress: unknown[] = [];
  const log = new EventLog({
    timers: world.timers,
    log: (line) => void lines.push(line),
    progress: (value) => void progress.push(value),
  });
  return { world, lines, progress, log };
}

const token = (content: string): object => ({ type: 'chunk', chunk: { choices: [{ delta: { content } }] } });

test('tokens become lines, and one that nobody ends is written after a moment', async () => {
  const { world, lines, log } = rig();
  for (const part of ['It ', 'is\nlate', ' now']) log.take(token(part) as never);
  assert.deepEqual(lines, ['It is']);
  await world.advance(500);
  assert.deepEqual(lines, ['It is', 'late now']);
  log.take({ type: 'text', data: { text: 'bye' } });
  log.end();
  assert.equal(lines.at(-1), 'bye');
  log.take({ type: 'text', data: { text: 'too late\n' } });
  assert.equal(lines.at(-1), 'bye');
  assert.deepEqual(world.waits, []);
});

test('progress is told at once, and then once a second at most', async () => {
  const { world, progress, log } = rig();
  for (let i = 1; i <= 50; i++) log.take({ type: 'iteration_end', data: { iteration: i, tokens_used: 10 } });
  assert.equal(progress.length, 1);
  await world.advance(1_000);
  assert.deepEqual(progress.at(-1), { iterations: 50, tool_calls: 0, tokens: 500 });
  assert.equal(progress.length, 2);
});

test('a flood is bounded, and what is beyond that is counted', () => {
  const { lines, log } = rig();
  for (let i = 0; i < 30_000; i++) log.take({ type: 'text', data: { text: 'x\n' } });
  log.take({ type: 'text', data: { text: 'y'.repeat(10_000_000) } });
  log.end();
  assert.equal(lines.length, 20_001);
  assert.match(String(lines.at(-1)), /^\d+ more lines of the agent are not kept$/);
});

test('events that are none do nothing', () => {
  const { lines, progress, log } = rig();
  const odd: readonly unknown[] = [
    null,
    [],
    'text',
    {},
    { type: 7 },
    { type: 'chunk' },
    { type: 'chunk', chunk: { choices: 'no' } },
    { type: 'chunk', chunk: { choices: [null] } },
    { type: 'text', data: { text: { toString: 'x' } } },
    { type: 'iteration_end', data: { iteration: 'many', tokens_used: Number.NaN } },
    { type: '__proto__', data: {} },
  ];
  for (const event of odd) log.take(event as never);
  log.end();
  assert.deepEqual(lines, []);
  assert.deepEqual(progress, [{ iterations: 1, tool_calls: 0 }]);
});
