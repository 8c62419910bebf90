import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandList } from './command-list.ts';

const problem = (patterns: readonly string[], input: unknown): string | undefined =>
  new CommandList(patterns).problemOf(JSON.stringify(input));

test('arguments are matched word by word, and a star stays within its word', () => {
  const list = ['/usr/bin/convert *.png out-*.jpg', 'git log *', '/bin/date'];
  for (const argv of [
    ['/usr/bin/convert', 'a b.png', 'out-1.jpg'],
    ['git', 'log'],
    ['git', 'log', '--oneline', '; rm -rf /'],
    ['/bin/date'],
  ])
    assert.equal(problem(list, { argv }), undefined, argv.join(' '));
  for (const argv of [
    ['/usr/bin/convert', 'a.png'],
    ['/usr/bin/convert', 'a.gif', 'out-1.jpg'],
    ['git'],
    ['git', 'push'],
    ['git log'],
    ['/bin/date', '-s'],
    ['sh', '-c', 'git log'],
    [],
    [1],
  ])
    assert.match(problem(list, { argv }) ?? '', /not on the list/, argv.join(' '));
});

test('a line for a shell has plain words only, or is a pattern letter for letter', () => {
  const list = ['git log *', 'ls -l | wc -l'];
  for (const command of ['git log', 'git log --oneline -n 5', 'ls -l | wc -l'])
    assert.equal(problem(list, { command }), undefined, command);
  for (const command of [
    'git log; rm -rf /',
    'git log $(id)',
    'git log `id`',
    'git log > /etc/passwd',
    'git log && id',
    'git log\nid',
    'git log ~root',
    'git log a{b,c}',
    'LD_PRELOAD=/tmp/x git log',
    'ls -l | wc -l ',
    'ls -l | wc',
  ])
    assert.match(problem(list, { command }) ?? '', /not on the list/, command);
});

test('nothing beside the command may change which program it is', () => {
  for (const more of [{ env: { PATH: '/tmp' } }, { cwd: '/tmp' }, { credentials: {} }, { other: 1 }])
    assert.match(problem(['git log'], { argv: ['git', 'log'], ...more }) ?? '', /sets/);
  assert.equal(problem(['git log'], { argv: ['git', 'log'], stdin: 'x' }), undefined);
  for (const input of [null, [], 'git log', { command: 1 }, { command: 'git log', argv: ['git', 'log'] }, {}])
    assert.notEqual(problem(['git log'], input), undefined, JSON.stringify(input));
});

test('a pattern begins with the name of a program', () => {
  for (const pattern of ['', '*', '* log', '/bin/* x']) assert.throws(() => new CommandList([pattern]), /program/);
});

test('a pattern with many stars costs no more than its length', () => {
  const word = 'a'.repeat(20_000);
  const from = performance.now();
  assert.match(problem([`x ${'*a'.repeat(50)}*b`], { argv: ['x', word] }) ?? '', /not on the list/);
  assert.ok(performance.now() - from < 1000);
});
