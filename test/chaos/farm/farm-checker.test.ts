import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { check } from './farm-checker.ts';
import type { Evidence, Final } from './farm-evidence.ts';
import type { Note } from './farm-notes.ts';

// A checker that finds nothing proves nothing: each of these histories has one lie in it.

const W = 100;

function final(id: string, task: number, more: Partial<Final> = {}): Final {
  return {
    id,
    task,
    queue: 'farm',
    handler: 'sleeper',
    state: 'completed',
    reason: 'none',
    attempt: 2,
    tries: 2,
    maxTries: 60,
    payload: JSON.stringify({ key: `key-${id}` }),
    result: JSON.stringify({ key: `key-${id}`, attempt: 2 }),
    log: [],
    attempts: [{ attempt: 1, outcome: 'expired', error: undefined }],
    ...more,
  };
}

function start(id: string, attempt: number, at: number, worker = W): Note {
  return { note: 'start', id, attempt, tries: attempt, max: 60, pid: worker, worker, at };
}

function end(id: string, attempt: number, at: number): Note {
  return { note: 'end', id, attempt, how: 'done', at };
}

/** Worker 99 is killed under task a, worker 100 runs it again; task b is cancelled. */
const TRUE: Evidence = {
  leaseMs: 600,
  words: [],
  notes: [
    { note: 'ask', call: '1', verb: 'push', kind: 'sleeper', keys: ['key-a'] },
    { note: 'told', call: '1', pushed: [{ id: 'a', task: 1 }], at: 1 },
    { note: 'ask', call: '2', verb: 'push', kind: 'long', keys: ['key-b'] },
    { note: 'told', call: '2', pushed: [{ id: 'b', task: 2 }], at: 2 },
    { note: 'ask', call: '3', verb: 'cancel', kind: 'long', keys: ['b'] },
    { note: 'told', call: '3', cancel: 'cancelled', at: 3 },
    { note: 'saw', id: 'b', state: 'cancelled', at: 4 },
    start('a', 1, 10, 99),
    { note: 'struck', signal: 'SIGKILL', pid: 99, at: 20 },
    { note: 'died', pid: 99, code: null, signal: 'SIGKILL' },
    start('a', 2, 700),
    end('a', 2, 750),
    { note: 'parted', id: 'a', attempt: 2, outcome: 'completed', worker: W, at: 760 },
  ],
  finals: [
    final('a', 1),
    final('b', 2, {
      handler: 'long',
      state: 'cancelled',
      reason: 'requested',
      attempt: 0,
      tries: 0,
      result: undefined,
      attempts: [],
    }),
  ],
  queues: [
    {
      name: 'farm',
      stats: { ready: 0, running: 0, scheduled: 0, waiting: 0, completed: 1, failed: 0, cancelled: 1 },
    },
  ],
};

/** The truth with more notes, and with task a or b told otherwise. */
function lie({ notes = [], a = {}, b = {} }: { notes?: Note[]; a?: Partial<Final>; b?: Partial<Final> }): Evidence {
  const [first, second] = TRUE.finals as [Final, Final];
  return {
    ...TRUE,
    notes: [...TRUE.notes, ...notes],
    finals: [
      { ...first, ...a },
      { ...second, ...b },
    ],
  };
}

test('a true history is believed, and what it met is counted', () => {
  const { violations, gates, againMs, acknowledged } = check(TRUE);
  assert.deepEqual(violations, []);
  assert.deepEqual([acknowledged, gates.busyKilled, gates.reaped, gates.suspectAlone], [2, 1, 1, 1]);
  assert.deepEqual(againMs, [680]);
});

/** Task c was told to stop in worker 100 and came to its end only after the suspect a had started there. */
function given(up: number): Evidence {
  const notes: Note[] = [
    { note: 'ask', call: '4', verb: 'push', kind: 'sleeper', keys: ['key-c'] },
    { note: 'told', call: '4', pushed: [{ id: 'c', task: 3 }], at: 3 },
    start('c', 1, 400),
    { note: 'stopped', id: 'c', attempt: 1, at: up },
    { note: 'end', id: 'c', attempt: 1, how: 'threw', at: 720 },
    start('c', 2, 800),
    end('c', 2, 810),
  ];
  return { ...TRUE, queues: [], notes: [...TRUE.notes, ...notes], finals: [...TRUE.finals, final('c', 3)] };
}

test('a suspect is alone when its worker has given up what does not stop, and not before', () => {
  assert.deepEqual(check(given(450)).violations, []);
  assert.match(check(given(650)).violations.join(), /^the suspect a\/2 ran beside c\/1$/);
});

describe('a lie is found:', () => {
  const lies: readonly (readonly [string, RegExp, Evidence])[] = [
    ['a task that is gone', /^lost: key-a/, { ...TRUE, finals: TRUE.finals.slice(1) }],
    ['a task that has not ended', /^lost: a /, lie({ a: { state: 'running' } })],
    ['a task that nobody asked for', /^invented: nobody/, lie({ a: { payload: '{"key":"other"}' } })],
    [
      'two tasks for one push',
      /twice$/,
      { ...TRUE, finals: [...TRUE.finals, final('c', 3, { payload: '{"key":"key-a"}' })] },
    ],
    ['an attempt that was started twice', /^a\/2 was started twice/, lie({ notes: [start('a', 2, 800, 101)] })],
    ['an attempt that was never granted', /newer than its task/, lie({ notes: [start('a', 3, 800)] })],
    ['a try above the budget', /was try 61 of 60/, lie({ notes: [{ ...start('a', 2, 800), tries: 61 } as Note] })],
    ['a result of another attempt', /^stale: /, lie({ a: { result: '{"key":"key-a","attempt":1}' } })],
    ['a result of another task', /^stale: /, lie({ a: { result: '{"key":"key-b","attempt":2}' } })],
    ['tries that do not add up', /said to have used 1 tries/, lie({ a: { tries: 1 } })],
    ['more tries than allowed', /used 2 of 1 tries/, lie({ a: { maxTries: 1 } })],
    ['an attempt without a trace', /has the attempts/, lie({ a: { attempt: 3 } })],
    ['an end of the wrong kind', /ended failed\/exhausted/, lie({ a: { state: 'failed', reason: 'exhausted' } })],
    ['a cancelled task that came back', /was cancelled, and is completed/, lie({ b: { state: 'completed' } })],
    ['a start after the end', /was started after it was cancelled/, lie({ notes: [start('b', 0, 900)] })],
    [
      'an end that was told to two workers',
      /was ended twice/,
      lie({ notes: [{ note: 'parted', id: 'a', attempt: 1, outcome: 'completed', worker: 99, at: 800 }] }),
    ],
    [
      'a refused end that was recorded',
      /was told lost, recorded is completed/,
      lie({ notes: [{ note: 'parted', id: 'a', attempt: 2, outcome: 'lost', worker: W, at: 800 }] }),
    ],
    ['a suspect in company', /ran beside b\/0/, lie({ notes: [start('b', 0, 720)] })],
    [
      'a worker that fell over',
      /ended with 1, and nobody/,
      lie({ notes: [{ note: 'died', pid: W, code: 1, signal: null }] }),
    ],
    [
      'counters that are off',
      /counts 1 cancelled, there are 0/,
      lie({ b: { state: 'completed', attempt: 1, tries: 1, result: 'null' } }),
    ],
  ];
  for (const [what, expected, evidence] of lies) {
    test(what, () => {
      const { violations } = check(evidence);
      assert.ok(
        violations.some((text) => expected.test(text)),
        `found only ${JSON.stringify(violations)}`,
      );
    });
  }
});
