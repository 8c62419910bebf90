import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Candidate, normalizePlacement, type PlacementInput } from '../placement/placement.ts';
import type { LimitCounter } from './limit.ts';
import {
  type FreeWorker,
  type Held,
  healthOf,
  heldBack,
  type QueueStatus,
  type ReadyKind,
  sayStatus,
} from './overview.ts';

const worker = (n: number, more: Partial<Candidate> = {}): Candidate => ({
  worker: n,
  name: `w${n}`,
  state: 'online',
  enabled: true,
  tags: [],
  handlers: undefined,
  queues: undefined,
  version: undefined,
  priority: 0,
  ...more,
});
const hand = (n: number, free = 4, more: Partial<Candidate> = {}): FreeWorker => ({ worker: worker(n, more), free });

let lanes = 0;
const kind = (ready: number, more: Partial<ReadyKind> = {}, placement: PlacementInput = {}): ReadyKind => ({
  lane: ++lanes,
  queue: 'mail',
  handler: 'send',
  ready,
  paused: false,
  uses: [],
  placement: normalizePlacement(placement),
  ...more,
});

const slot = (id: number, cap: number, active = 0): LimitCounter => ({
  id,
  cap,
  active,
  rate: undefined,
  cost: undefined,
  tat: 0,
  costTat: 0,
  pausedUntil: 0,
});

function held(
  kinds: readonly ReadyKind[],
  hands: readonly FreeWorker[] = [hand(1)],
  counters: readonly LimitCounter[] = [],
) {
  return heldBack({ kinds, workers: hands, counters: new Map(counters.map((one) => [one.id, one])), now: 0 });
}
const said = (...given: Parameters<typeof held>): readonly string[] => held(...given).map(({ text }) => text);

describe('what ready tasks wait for', () => {
  test('tasks that a free worker can run are about to start, and wait for nothing', () => {
    assert.deepEqual(held([kind(4)]), []);
    assert.deepEqual(held([]), []);
  });

  test('tasks beyond the free slots wait for a slot, across lanes', () => {
    assert.deepEqual(held([kind(3), kind(3)]), [{ why: 'busy', tasks: 2, text: '2 for a free slot' }]);
    assert.deepEqual(said([kind(9)], [hand(1, 0), hand(2, -1)]), ['9 for a free slot']);
  });

  test('the reason with most tasks comes first; with equal numbers the shortest one', () => {
    const kinds = [kind(2, { queue: 'stopped', paused: true }), kind(2, {}, { requires: ['gpu'] }), kind(6)];
    assert.deepEqual(said(kinds, [hand(1)]), [
      '2 for a free slot',
      '2 in queue stopped, which is paused',
      '2 need tag gpu, which no worker has',
    ]);
    assert.deepEqual(said([kind(5), kind(2, { paused: true })]), [
      '2 in queue mail, which is paused',
      '1 for a free slot',
    ]);
  });

  test('a paused queue comes before every other reason', () => {
    const uses = [{ counter: 1, weight: 1, cost: 0, name: 'claude' }];
    const kinds = [kind(5, { paused: true, uses }), kind(2, { paused: true })];
    assert.deepEqual(held(kinds, [], [slot(1, 0)]), [
      { why: 'paused', name: 'mail', tasks: 7, text: '7 in queue mail, which is paused' },
    ]);
  });

  test('without a worker all tasks wait for one', () => {
    assert.deepEqual(held([kind(5), kind(6, {}, { requires: ['gpu'] })], []), [
      { why: 'nobody', tasks: 11, text: '11 for a worker' },
    ]);
  });

  test('a limit blocks the tasks that it has no room for, and the rest compete for slots', () => {
    const uses = [{ counter: 1, weight: 1, cost: 0, name: 'claude' }];
    assert.deepEqual(held([kind(31, { uses })], [hand(1, 100)], [slot(1, 10, 4)]), [
      { why: 'limit', name: 'claude', tasks: 25, text: '25 on limit claude' },
    ]);
    const both = [kind(3, { uses }), kind(3, { uses })];
    assert.deepEqual(said(both, [hand(1, 1)], [slot(1, 2)]), ['4 on limit claude', '1 for a free slot']);
  });

  test('a demand that no worker meets is named by the first thing that all workers lack', () => {
    const lacking: readonly (readonly [PlacementInput, string, string])[] = [
      [{ requires: ['gpu'] }, '9 need tag gpu, which no worker has', 'gpu'],
      [{ requires: ['credential:hub'] }, '9 need credential hub, which no worker holds', 'hub'],
      [{ handlers: ['draw'] }, '9 need handler draw, which no worker offers', 'draw'],
      [{ version: '>=2' }, '9 need version >=2.0.0, which no worker has', '>=2.0.0'],
      [{ only: ['x', 'y'] }, '9 need worker x or y, which is not there', 'x or y'],
      [{ never: ['w1', 'w2'] }, '9 need another worker, and there is none', 'another worker'],
    ];
    const hands = [hand(1, 4, { handlers: ['send'] }), hand(2, 4, { handlers: ['send'], tags: ['cpu'] })];
    for (const [placement, text, name] of lacking) {
      assert.deepEqual(held([kind(9, {}, placement)], hands), [{ why: 'placement', name, tasks: 9, text }]);
    }
    assert.deepEqual(said([kind(9)], [hand(1, 4, { queues: ['other'] })]), [
      '9 are in queue mail, which no worker serves',
    ]);
  });

  test('one task has a sentence in the singular', () => {
    assert.deepEqual(said([kind(1, {}, { requires: ['gpu'] })]), ['1 needs tag gpu, which no worker has']);
    assert.deepEqual(said([kind(1)], [hand(1, 4, { queues: ['other'] })]), [
      '1 is in queue mail, which no worker serves',
    ]);
    assert.deepEqual(said([kind(1)], [hand(1, 4, { enabled: false })]), [
      '1 fits only workers that are disabled or draining',
    ]);
    const apart = [hand(1, 4, { tags: ['gpu'] }), hand(2, 4, { tags: ['eu'] })];
    assert.deepEqual(said([kind(1, {}, { requires: ['gpu', 'eu'] })], apart), [
      '1 needs eu and gpu, which no one worker has together',
    ]);
  });

  test('workers that are only unavailable for now are reported as such', () => {
    const hands = [hand(1, 4, { enabled: false }), hand(2, 4, { state: 'draining' }), hand(3, 4, { state: 'lost' })];
    assert.deepEqual(held([kind(2)], hands), [
      { why: 'placement', tasks: 2, text: '2 fit only workers that are disabled or draining' },
    ]);
  });

  test('demands that no one worker meets together are named', () => {
    const apart = [hand(1, 4, { tags: ['gpu'] }), hand(2, 4, { tags: ['eu'] })];
    assert.deepEqual(held([kind(3, {}, { requires: ['gpu', 'eu'] })], apart), [
      { why: 'placement', name: 'eu', tasks: 3, text: '3 need eu and gpu, which no one worker has together' },
    ]);
  });

  test('the most tasks come first', () => {
    const kinds = [kind(2, { paused: true }), kind(9, {}, { requires: ['gpu'] })];
    assert.deepEqual(
      held(kinds).map(({ why }) => why),
      ['placement', 'paused'],
    );
  });
});

const stand = (more: Partial<QueueStatus> = {}): QueueStatus => ({
  workers: { online: 3 },
  slots: { all: 12, busy: 0 },
  ready: 0,
  running: 0,
  others: 100,
  held: [],
  ...more,
});
const limit: Held = { why: 'limit', name: 'claude', tasks: 31, text: '31 on limit claude' };
const gpu: Held = { why: 'placement', name: 'gpu', tasks: 9, text: '9 need tag gpu, which no worker has' };
const busy: Held = { why: 'busy', tasks: 40, text: '40 for a free slot' };
const none = { workers: { online: 0 } };

describe('the state of the cluster in one sentence', () => {
  const sentences: readonly (readonly [string, Partial<QueueStatus>, string])[] = [
    ['nothing there yet', { ...none, others: 0 }, 'Nothing here yet: no task and no worker.'],
    ['workers and no task yet', { others: 0 }, '3 workers online, and no task yet.'],
    ['idle', {}, 'All is well: 3 workers online, nothing running, nothing waiting.'],
    ['idle without a worker', none, 'No worker online, and nothing waits for one.'],
    ['work, and nothing waits', { running: 12 }, '3 workers online, 12 running, nothing waiting.'],
    ['one of each', { workers: { online: 1 }, running: 1, ready: 1 }, '1 worker online, 1 running, 1 about to start.'],
    [
      'several reasons',
      { running: 12, ready: 40, held: [limit, gpu] },
      '3 workers online, 12 running, 40 waiting: 31 on limit claude, 9 need tag gpu, which no worker has.',
    ],
    [
      'all busy',
      { running: 12, ready: 40, held: [busy] },
      '3 workers online, 12 running, 40 waiting: all 12 slots are busy.',
    ],
    [
      'the only slot busy',
      { workers: { online: 1 }, slots: { all: 1, busy: 1 }, running: 1, ready: 40, held: [busy] },
      '1 worker online, 1 running, 40 waiting: the only slot is busy.',
    ],
    [
      'some for slots',
      { running: 12, ready: 71, held: [busy, limit] },
      '3 workers online, 12 running, 71 waiting: 40 for a free slot, 31 on limit claude.',
    ],
    [
      'a pause',
      { ready: 5, held: [{ why: 'paused', name: 'mail', tasks: 5, text: '5 in queue mail, which is paused' }] },
      '3 workers online, nothing running, 5 waiting: 5 in queue mail, which is paused.',
    ],
    [
      'no worker',
      { ...none, ready: 40, held: [{ why: 'nobody', tasks: 40, text: '40 for a worker' }] },
      'No worker online, nothing running, 40 waiting for one.',
    ],
    [
      'more reasons than are told',
      { ready: 100, held: [busy, limit, gpu, { ...gpu, tasks: 4 }, { ...gpu, tasks: 3 }] },
      '3 workers online, nothing running, 100 waiting: 40 for a free slot, 31 on limit claude, 9 need tag gpu, which no worker has, 7 for other reasons.',
    ],
  ];
  for (const [what, more, sentence] of sentences) {
    test(what, () => assert.equal(sayStatus(stand(more)), sentence));
  }
});

test('waiting for a limit is fine; waiting for a person needs attention; tasks that no worker serves are trouble', () => {
  const worries = { ready: 5, online: 1, held: [limit, busy], leaderless: false, recent: false };
  assert.equal(healthOf(worries), 'well');
  assert.equal(healthOf({ ...worries, held: [gpu] }), 'attention');
  assert.equal(healthOf({ ...worries, recent: true }), 'attention');
  assert.equal(healthOf({ ...worries, online: 0 }), 'trouble');
  assert.equal(healthOf({ ...worries, leaderless: true }), 'trouble');
  assert.equal(healthOf({ ...worries, ready: 0, online: 0, held: [] }), 'well');
});
