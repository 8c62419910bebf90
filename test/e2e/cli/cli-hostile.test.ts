import assert from 'node:assert/strict';
import { test } from 'node:test';
import { place, workAt } from './cli-calls.ts';

const EVIL = 'a\u001b]52;c;eA==\u0007b\u009b2Jc\u001b[31md\u202ee\rf\u0000g';

test('whatever a task holds, no command prints a control character of it', async (t) => {
  const { call, url } = place(t);
  const input = JSON.stringify({ evil: EVIL.replace('\u0000', ''), [`key${EVIL.replace('\u0000', '')}`]: 1 });
  const pushed = await call(['push', 'q', '-', '--max-attempts', '1', '--unique', 'k\u202e'], input);
  assert.equal(pushed.code, 0, pushed.stderr);
  const [id = ''] = pushed.lines;
  const { engine, worker } = await workAt(t, url);
  const [grant] = await engine.claim({ worker, max: 1 });
  assert.ok(grant);
  await engine.logs.append(grant, [
    { seq: 1, at: 0, stream: 'stdout', text: EVIL },
    { seq: 2, at: 0, stream: 'progress', text: JSON.stringify(EVIL) },
    { seq: 3, at: 0, stream: 'stderr', text: '1970-01-01T00:00:00.000Z\t1\tsystem\tforged\n2nd' },
  ]);
  await engine.fail(grant, new Error(EVIL));
  for (const args of [
    ['tasks', 'list'],
    ['tasks', 'list', '--json'],
    ['tasks', 'show', id],
    ['tasks', 'show', id, '--json'],
    ['tasks', 'logs', id],
    ['tasks', 'logs', id, '-f'],
    ['tasks', 'logs', id, '--json'],
    ['tasks', 'cancel', id],
    ['queues', 'list'],
    ['workers', 'list'],
  ]) {
    const { stdout, stderr, code } = await call(args);
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    assert.doesNotMatch(stdout + stderr, /(?![\t\n])\p{Cc}|[\u202a-\u202e]/u, args.join(' '));
  }
  const [task] = (await call(['tasks', 'show', id, '--json'])).objects();
  const { evil } = (task as { input: { evil: string } }).input;
  assert.equal(evil, EVIL.replace('\u0000', ''), 'for programs nothing is lost');
  const { lines } = await call(['tasks', 'logs', id]);
  assert.ok(
    lines.every((line) => /^1970-01-01T00:00:00\.000Z\t1\t(stdout|progress|stderr)\t/.test(line)),
    'no line is forged',
  );
});

test('an error quotes what was typed without its control characters', async (t) => {
  const { call } = place(t);
  for (const args of [
    ['\u001b[2J'],
    ['push', 'q', '\u009b2J'],
    ['push', '\u001b]0;x\u0007'],
    ['tasks', '\u001b[2J'],
    ['tasks', 'show', '\u009b2J\u202e'],
    ['--\u001b[2J'],
  ]) {
    const { stderr, code } = await call(args);
    assert.ok(code === 2 || code === 3, String(code));
    assert.doesNotMatch(stderr, /(?!\n)\p{Cc}|[\u202a-\u202e]/u);
  }
});
