import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogLineView } from '../../operate/views.ts';
import { logLines } from './log-lines.ts';
import { testOut } from './test-out.ts';

const line: LogLineView = {
  attempt: 2,
  seq: 1,
  at: Date.UTC(2026, 0, 1),
  stream: 'stderr',
  text: 'one\u001b[2J\ntwo\r',
};

test('each line of an entry has the prefix of the entry, so that none can be forged', () => {
  assert.deepEqual(logLines(line, testOut('plain')), [
    '2026-01-01T00:00:00.000Z\t2\tstderr\tone',
    '2026-01-01T00:00:00.000Z\t2\tstderr\ttwo',
    '2026-01-01T00:00:00.000Z\t2\tstderr\t',
  ]);
  for (const shown of logLines(line, testOut('screen'))) assert.match(shown, /^\d\d:\d\d:\d\d\.\d{3} ┃ (one|two|)$/);
});

test('colours of a log stay on a terminal that shows colours', () => {
  const red = { ...line, text: '\u001b[31mred' };
  assert.ok(logLines(red, { ...testOut('screen'), colours: true })[0]?.endsWith('┃ \u001b[31mred\u001b[0m'));
  assert.match(logLines(red, testOut('screen'))[0] as string, /┃ red$/);
});
