import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskEvent } from '../../core/task/event.ts';
import { Incidents } from './incidents.ts';

let seq = 0;
const event = (more: Partial<TaskEvent>): TaskEvent => ({
  seq: ++seq,
  at: seq * 10,
  queue: 'mail',
  change: 'created',
  state: 'ready',
  task: 7,
  attempt: 2,
  createdAt: 1,
  ...more,
});
const make = (kept?: number): Incidents =>
  new Incidents({ idOf: ({ task }) => `task_${task}`, ...(kept === undefined ? {} : { kept }) });
const lost = (...names: readonly string[]): ReadonlyMap<number, string> =>
  new Map(names.map((name) => [name.charCodeAt(0), name]));

test('leases that ran out and tasks that failed for good are told, the newest first, and nothing else', () => {
  const incidents = make();
  for (const one of [
    event({}),
    event({ change: 'claimed', state: 'running' }),
    event({ change: 'expired', state: 'ready' }),
    event({ change: 'retried', state: 'scheduled' }),
    event({ change: 'failed', state: 'failed' }),
    event({ change: 'expired', state: 'failed' }),
    event({ change: 'timed_out', state: 'failed' }),
    event({ change: 'completed', state: 'completed' }),
  ]) {
    incidents.add(one);
  }
  assert.deepEqual(
    incidents.list().map(({ kind, text, task }) => [kind, text, task]),
    [
      ['failed', 'a task of queue mail failed for good: it waited too long for its first start', 'task_7'],
      ['failed', 'a task of queue mail failed for good: its lease ran out, and it has no tries left', 'task_7'],
      ['failed', 'a task of queue mail failed for good', 'task_7'],
      ['lease expired', 'the lease of attempt 2 in queue mail ran out', 'task_7'],
    ],
  );
});

test('only the last fifty are kept, and no id is made of those that nobody sees', () => {
  let ids = 0;
  const incidents = new Incidents({ idOf: () => `task_${++ids}` });
  for (let i = 0; i < 10_000; i++) incidents.add(event({ change: 'failed', state: 'failed' }));
  assert.equal(ids, 0);
  assert.equal(incidents.list().length, 50);
  assert.equal(ids, 50);
});

test('a worker that fell silent is told once, and one that was lost before the first look never', () => {
  const incidents = make();
  incidents.observe({ at: 1, lost: lost('a'), leader: undefined, unmet: new Map() });
  assert.deepEqual(incidents.list(), []);
  incidents.add(event({ seq: 99 }));
  incidents.observe({ at: 2, lost: lost('a', 'b'), leader: undefined, unmet: new Map() });
  incidents.observe({ at: 3, lost: lost('a', 'b'), leader: undefined, unmet: new Map() });
  assert.deepEqual(incidents.list(), [
    { at: 2, seq: 99, kind: 'worker lost', worker: 'b', text: 'worker b fell silent' },
  ]);
  incidents.observe({ at: 4, lost: lost('a'), leader: undefined, unmet: new Map() });
  incidents.observe({ at: 5, lost: lost('a', 'b'), leader: undefined, unmet: new Map() });
  assert.equal(incidents.list().length, 2, 'it came back, and was lost again');
});

test('another leader is told, also after a time without one', () => {
  const incidents = make();
  for (const leader of [undefined, 'n1', 'n1', undefined, 'n2', 'n2'])
    incidents.observe({ at: 1, lost: lost(), leader, unmet: new Map() });
  assert.deepEqual(
    incidents.list().map(({ kind, text }) => [kind, text]),
    [['leader changed', 'node n2 leads now, after n1']],
  );
});

test('whether something went wrong since a moment is known; another leader is no harm', () => {
  const incidents = make();
  incidents.observe({ at: 50, lost: lost(), leader: 'n1', unmet: new Map() });
  incidents.observe({ at: 60, lost: lost(), leader: 'n2', unmet: new Map() });
  assert.equal(incidents.anySince(0), false);
  incidents.add(event({ at: 70, change: 'failed', state: 'failed' }));
  assert.deepEqual([incidents.anySince(70), incidents.anySince(71)], [true, false]);
});

test('a requirement that nobody meets is told once, when it stays so, and again when it has come back', () => {
  const incidents = make();
  const look = (at: number, ...tests: readonly string[]): void => {
    const unmet = new Map(tests.map((one) => [one, new Set(['b', 'a'])]));
    incidents.observe({ at, lost: lost(), leader: undefined, unmet });
  };
  look(1, 'gpu');
  assert.deepEqual(incidents.list(), []);
  look(2, 'gpu', 'credential:openai');
  look(3, 'gpu', 'credential:openai');
  look(4, 'gpu');
  const texts = (): readonly string[] => incidents.list().map(({ text }) => text);
  assert.deepEqual(texts(), [
    'tasks of a, b need the credential openai, which no enabled worker has',
    'tasks of a, b need the tag gpu, which no enabled worker has',
  ]);
  look(5);
  look(6, 'gpu');
  look(7, 'gpu');
  assert.equal(texts().length, 3);
});
