import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STRATEGIES } from '../../core/limits/limit.ts';
import type { LimitDetailView } from '../../operate/views.ts';
import { describeLimit } from './limit-page.ts';
import { boundsBrief, boundsText } from './limit-words.ts';
import { testOut } from './test-out.ts';

const NOW = new Date(2026, 4, 4, 13, 0, 0).getTime();
const RATE = { max: 100, window: '1m', burst: 10, perKey: false };
const LIMIT: LimitDetailView = {
  name: 'openai',
  concurrent: 4,
  perKey: 2,
  strategy: 'queue',
  active: 3,
  waiting: 1200,
  used: 3,
  cap: 4,
  revision: 2,
  changedAt: NOW - 60_000,
  changedBy: 'ada',
  keys: [],
  moreKeys: false,
  history: [],
};
const page = (limit: Partial<LimitDetailView>, mode: 'screen' | 'plain' = 'screen'): string =>
  describeLimit({ ...LIMIT, ...limit }, testOut(mode, 100), NOW).join('\n');

test('a limit shows what it allows, what is in use, its keys and its history', () => {
  const text = page({
    rate: RATE,
    pausedUntil: NOW + 300_000,
    keys: [
      { key: 'alice', used: 2, cap: 2 },
      { key: 'bob', used: 0, cap: 2, pausedUntil: NOW + 60_000 },
      { key: 'cy', used: 0, cap: 2, freesAt: NOW + 2000 },
    ],
    history: [
      { at: NOW - 60_000, by: 'ada', limit: { concurrent: 4, perKey: 2, rate: RATE, strategy: 'refuse' } },
      { at: NOW - 90_000, by: '' },
    ],
  });
  assert.equal(
    text,
    [
      'openai',
      '',
      '  allows    at most 4 at once, 2 at once per key, 100 starts in 1m (burst 10); more tasks wait',
      '  in use    3 of 4, 1,200 tasks wait',
      '  paused    until 2026-05-04 13:05:00 (in 5m)',
      '  changed   2026-05-04 12:59:00 (1m ago) by ada, revision 2',
      '',
      '  keys',
      '    key    in use',
      '    alice  2 of 2',
      '    bob    0 of 2  paused until 2026-05-04 13:01:00 (in 1m)',
      '    cy     0 of 2  next start in 2s',
      '',
      '  history',
      '    when                 by   what',
      '    2026-05-04 12:59:00  ada  4 at once, 2 per key, rate 100/1m (burst 10), refuse',
      '    2026-05-04 12:58:30  –    removed',
    ].join('\n'),
  );
});

test('many keys are cut on a terminal and whole in a pipe', () => {
  const keys = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, used: 0 }));
  assert.match(page({ keys }), /^ {4}… and 70 more$/m);
  assert.doesNotMatch(page({ keys }, 'plain'), /…/);
  assert.match(page({ keys, moreKeys: true }), /… and more, which were not read/);
});

test('every bound and every strategy has its words', () => {
  const all = { concurrent: 1, perKey: 2, rate: RATE, cost: { ...RATE, perKey: true }, backlog: 5 };
  const texts = STRATEGIES.map((strategy) => boundsText({ ...all, strategy }));
  assert.equal(new Set(texts).size, STRATEGIES.length);
  assert.equal(
    texts[0],
    'at most 1 at once, 2 at once per key, 100 starts in 1m (burst 10), cost of 100 in 1m per key (burst 10), 5 waiting; more tasks wait',
  );
  assert.equal(
    boundsBrief({ ...all, strategy: 'cancel_oldest' }),
    '1 at once, 2 per key, rate 100/1m (burst 10), cost 100/1m per key (burst 10), backlog 5, cancel_oldest',
  );
  assert.equal(boundsText({ strategy: 'queue' }), 'no bounds; more tasks wait');
  assert.equal(boundsBrief({ strategy: 'queue' }), 'no bounds');
});

test('nothing that others wrote can reach the terminal', () => {
  const evil = '\u001b]52;c;eA==\u0007\u009b2J\u202e';
  const text = page({ changedBy: evil, keys: [{ key: evil, used: 1 }], history: [{ at: NOW, by: evil }] });
  assert.doesNotMatch(text, /(?!\n)\p{Cc}|[\u202a-\u202e]/u);
});
