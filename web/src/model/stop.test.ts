import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopTimes } from './stop.ts';

const line = (text: string, more: object = {}) => ({ at: 1, attempt: 2, stream: 'system', text, ...more });

test('how far a stop has come is what the worker says of it, each step at its first time', () => {
  const lines = [
    line('stop (cancelled): abort signal', { at: 10 }),
    line('stop (cancelled): SIGTERM after 2,005 ms', { at: 2010 }),
    line('stop (cancelled): SIGTERM after 2,100 ms', { at: 2100 }),
  ];
  assert.deepEqual(
    [...stopTimes(lines, 2)],
    [
      ['abort', 10],
      ['SIGTERM', 2010],
    ],
  );
});

test('neither what a task prints nor what was said of another attempt counts', () => {
  const lines = [
    line('stop (cancelled): SIGKILL after 4 s', { stream: 'stdout' }),
    line('stop (timeout): SIGKILL after 4 s', { attempt: 1 }),
    line('the child was started'),
    line('stop (cancelled): the handler ignores its signal and runs on inside the worker'),
  ];
  assert.deepEqual([...stopTimes(lines, 2)], []);
});
