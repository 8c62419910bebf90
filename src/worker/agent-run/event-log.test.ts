import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secrets } from '../../flow/agent/secrets.ts';
import { VirtualWorld } from '../../store/conformance/kit/virtual-world.ts';
import { EventLog } from './event-log.ts';

function rig(secrets: readonly string[] = []) {
  const world = new VirtualWorld();
  const lines: string[] = [];
  const progress: unknown[] = [];
  const log = new EventLog({
    timers: world.timers,
    secrets: new Secrets(secrets),
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

const KEY = 'sk-0123456789';

test('no part of a secret is told, wherever a line is cut and however it comes', async () => {
  for (const size of [1, 3, 7, 5000]) {
    const { lines, log } = rig([KEY]);
    const said = `${'x'.repeat(1995)}${KEY} and ${'y'.repeat(1990)}${KEY}`;
    for (let at = 0; at < said.length; at += size) log.take(token(said.slice(at, at + size)) as never);
    log.end();
    assert.equal(lines.join(''), said.replaceAll(KEY, '[secret]'), `in pieces of ${size}`);
  }
});

test('the first half of a secret waits for the second, longer than other words do', async () => {
  const { world, lines, log } = rig([KEY]);
  log.take(token(`my key is ${KEY.slice(0, 6)}`) as never);
  await world.advance(500);
  assert.deepEqual(lines, ['my key is ']);
  log.take(token(KEY.slice(6)) as never);
  await world.advance(500);
  assert.deepEqual(lines, ['my key is ', '[secret]']);
});

test('what is quoted is hidden before it is shortened', () => {
  const { lines, progress, log } = rig([KEY]);
  log.take({ type: 'tool_result', data: { result: `${'x'.repeat(295)}${KEY}` } });
  log.take({ type: 'tool_call', data: { name: 'send', input: { to: `${'x'.repeat(285)}${KEY}` } } });
  log.take({ type: 'status', data: { message: `${'x'.repeat(295)}${KEY}` } });
  assert.ok(!JSON.stringify([lines, progress]).includes('sk-'), lines.join('\n'));
});
