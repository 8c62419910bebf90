import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SeenEvents, Word } from '../look.ts';
import { type Schedule, scheduleMisfits, slotFaults } from '../look-schedule.ts';
import { check } from './farm-checker.ts';
import type { Evidence, Final } from './farm-evidence.ts';
import type { Note } from './farm-notes.ts';

// As farm-checker.test.ts, for what waits, remembers and stands behind limits: one lie in each history.

const W = 100;

interface Told {
  readonly key?: string;
  readonly from: number;
  readonly to: number;
  readonly result?: object;
  readonly more?: Partial<Final>;
}

let tasks = 0;

/** A task that was pushed and ran once, from one moment to another. */
function ran(id: string, handler: string, { key = id, from, to, result = {}, more = {} }: Told): [Final, Note[]] {
  const attempt = more.attempt ?? 1;
  const final: Final = {
    id,
    task: ++tasks,
    queue: 'farm',
    handler,
    state: 'completed',
    reason: 'none',
    attempt,
    tries: 1,
    maxTries: 60,
    payload: JSON.stringify({ key }),
    result: JSON.stringify({ key, attempt, ...result }),
    log: [],
    attempts: [],
    ...more,
  };
  const notes: Note[] = [
    { note: 'ask', call: id, verb: 'push', kind: handler, keys: [key] },
    { note: 'told', call: id, pushed: [{ id, task: final.task }], at: 0 },
    { note: 'start', id, attempt, tries: 1, max: 60, pid: W, worker: W, at: from },
    { note: 'end', id, attempt, how: 'done', at: to },
    { note: 'parted', id, attempt, outcome: 'completed', worker: W, at: to },
  ];
  return [final, notes];
}

const parked = [{ attempt: 1, outcome: 'parked', error: undefined }];
const firstOf = (id: string, at: number): Note[] => [
  { note: 'start', id, attempt: 1, tries: 1, max: 60, pid: W, worker: W, at },
  { note: 'waits', id, attempt: 1, at: at + 10 },
  { note: 'end', id, attempt: 1, how: 'parked', at: at + 11 },
];
const stepped = (attempt: number, place: string, policy: 'repeat' | 'exact', at: number): Note => {
  return { note: 'step', id: 'steps', attempt, place, policy, at };
};
const remembered = (id: string, attempt: number, place: string, value: unknown, at: number): Note => {
  return { note: 'kept', id, attempt, place, value, at };
};

/** Three of one limit at once, a step that was remembered over a wait, a word that was heard, a family, a small graph. */
function story(): { finals: Final[]; notes: Note[]; words: Word[] } {
  tasks = 0;
  const parts = [
    ran('l0', 'limited', { key: 'c-0', from: 10, to: 30 }),
    ran('l1', 'limited', { key: 'c-1', from: 11, to: 30 }),
    ran('l3', 'limited', { key: 'c-3', from: 12, to: 30 }),
    ran('steps', 'stepper', { from: 60, to: 80, more: { attempt: 2, attempts: parked } }),
    ran('ear', 'listener', { from: 60, to: 80, result: { word: 'hi' }, more: { attempt: 2, attempts: parked } }),
    ran('kin', 'family', {
      from: 60,
      to: 80,
      result: { home: ['completed kin.0'] },
      more: { attempt: 2, attempts: parked },
    }),
    ran('kin0', 'offspring', { key: 'kin.0', from: 30, to: 40 }),
    ran('up', 'node', { from: 10, to: 20, result: { after: [] } }),
    ran('down', 'node', { from: 30, to: 40, result: { after: ['up completed'] } }),
  ] as const;
  const waiting = ['steps', 'ear', 'kin'].flatMap((id, i) => firstOf(id, 40 + i));
  return {
    finals: parts.map(([final]) => final),
    words: [{ channel: 'listen-0', body: '"hi"', task: 5 }],
    notes: [
      // Nobody pushed the child.
      ...parts.flatMap(([, notes]) => notes).filter((note) => !('call' in note) || note.call !== 'kin0'),
      ...waiting,
      stepped(1, 'first', 'repeat', 42),
      remembered('steps', 1, 'first', 'once', 44),
      remembered('steps', 2, 'first', 'once', 62),
      stepped(2, 'third', 'exact', 63),
      remembered('steps', 2, 'third', 'twice', 64),
      { note: 'ask', call: 's', verb: 'signal', kind: 'listen-0', keys: ['hi'] },
      { note: 'told', call: 's', woken: [5], at: 50 },
      remembered('ear', 2, 'word', 'hi', 62),
      { note: 'spawns', id: 'kin', attempt: 1, keys: ['kin.0'] },
      remembered('kin', 2, 'home', ['completed kin.0'], 62),
      {
        note: 'ask',
        call: 'g',
        verb: 'push',
        kind: 'graph',
        keys: ['up', 'down'],
        after: [[], [{ key: 'up', optional: false }]],
      },
      {
        note: 'told',
        call: 'g',
        pushed: [
          { id: 'up', task: 8 },
          { id: 'down', task: 9 },
        ],
        at: 5,
      },
    ],
  };
}

interface Lie {
  readonly notes?: readonly Note[];
  readonly words?: readonly Word[];
  readonly of?: string;
  readonly is?: Partial<Final>;
  /** What is left out of the notes. */
  readonly unsaid?: (note: Note) => boolean;
}

function evidence({ notes = [], words, of, is = {}, unsaid = () => false }: Lie = {}): Evidence {
  const told = story();
  return {
    leaseMs: 600,
    queues: [],
    finals: told.finals.map((final) => (final.id === of ? { ...final, ...is } : final)),
    notes: [...told.notes.filter((note) => !unsaid(note)), ...notes],
    words: words ?? told.words,
  };
}

test('a true history of scheduled work is believed', () => {
  const { violations, gates } = check(evidence());
  assert.deepEqual(violations, []);
  assert.deepEqual([gates.stepsRecalled, gates.signalsTaken, gates.signalsKept], [1, 1, 0]);
});

describe('a lie about scheduled work is found:', () => {
  const ofUp = (note: Note): boolean => note.note === 'end' && note.id === 'up';
  const word = { channel: 'listen-0', body: '"hi"', task: 5 };
  const lies: readonly (readonly [string, RegExp, Lie])[] = [
    [
      'a fourth of three at once',
      /4 ran at once of three\/,/,
      {
        unsaid: (note) => note.note === 'start' && note.id === 'steps' && note.attempt === 1,
        of: 'steps',
        is: { handler: 'limited', payload: '{"key":"c-2"}', attempts: [] },
        notes: [{ note: 'start', id: 'steps', attempt: 2, pid: W, worker: W, at: 25 }],
      },
    ],
    [
      'a third of two for one key',
      /3 ran at once of three\/ann/,
      { of: 'l1', is: { payload: '{"key":"c-6"}', result: '{"key":"c-6","attempt":1}' } },
    ],
    [
      'a start that came after all',
      /was claimed, and then failed/,
      { of: 'l0', is: { state: 'failed', reason: 'timeout' } },
    ],
    [
      'a step that ran after it was remembered',
      /ran again in attempt 2/,
      { notes: [stepped(2, 'first', 'repeat', 61)] },
    ],
    ['a step that ran twice in one attempt', /ran twice in one/, { notes: [stepped(1, 'first', 'repeat', 43)] }],
    ['an exact step that ran twice', /may run once/, { notes: [stepped(1, 'third', 'exact', 45)] }],
    ['a step with two values', /was "once", and "else"/, { notes: [remembered('steps', 2, 'first', 'else', 65)] }],
    [
      'a park that nobody asked for',
      /was parked, and had not asked/,
      { unsaid: (note) => note.note === 'waits' && note.id === 'ear' },
    ],
    ['a signal that is lost', /the signal hi is lost/, { words: [] }],
    ['a signal in two places', /is in 2 places/, { words: [word, { ...word, task: 0 }] }],
    ['a signal that nobody sent', /nobody sent ho/, { words: [word, { channel: 'x', body: '"ho"', task: 0 }] }],
    ['a signal that another one took', /woke 5, and is with 4/, { words: [{ ...word, task: 4 }] }],
    [
      'a signal that woke another when it was repeated',
      /hi woke 5, and then 4/,
      { notes: [{ note: 'told', call: 's', woken: [4], at: 51 }] },
    ],
    [
      'a word that was not taken',
      /heard ho, and took hi/,
      { of: 'ear', is: { result: '{"key":"ear","attempt":2,"word":"ho"}' } },
    ],
    [
      'a parent that did not wait',
      /did not wait for completed kin.0/,
      { unsaid: (note) => note.note === 'end' && note.id === 'kin0' },
    ],
    [
      'a child of which the parent did not hear',
      /came home with undefined/,
      { of: 'kin', is: { result: '{"key":"kin","attempt":2}' } },
    ],
    ['a child that nobody started', /^invented: nobody/, { unsaid: (note) => note.note === 'spawns' }],
    [
      'a dependent that did not wait',
      /down\/1 was started before up/,
      { unsaid: ofUp, notes: [{ note: 'end', id: 'up', attempt: 1, how: 'done', at: 35 }] },
    ],
    [
      'a dependent without what it needs',
      /down was started without up/,
      { of: 'up', is: { state: 'failed', reason: 'gave_up' } },
    ],
    [
      'a dependent that ended for nothing',
      /for want of what has completed/,
      { of: 'down', is: { state: 'cancelled', reason: 'dependency' } },
    ],
    [
      'an end for what was never waited for',
      /never waited for/,
      { of: 'up', is: { state: 'cancelled', reason: 'dependency' } },
    ],
    [
      'a dependent that did not hear',
      /did not hear how up ended/,
      { of: 'down', is: { result: '{"key":"down","attempt":1,"after":[]}' } },
    ],
  ];
  for (const [what, expected, it] of lies) {
    test(what, () => {
      const { violations } = check(evidence(it));
      assert.ok(
        violations.some((text) => expected.test(text)),
        `found only ${JSON.stringify(violations)}`,
      );
    });
  }
});

describe('a look at the store finds', () => {
  const slot = { id: 1, name: 'two', key: '', cap: 2, active: 0, counted: 0, body: '{"concurrent":2}' };
  const rated = { ...slot, cap: null, body: '{"rate":{"max":2,"windowMs":1000}}' };
  const [READY, RUNNING, COMPLETED] = [0, 1, 4];
  const event = (kind: number, state: number, task: number, at = 0): SeenEvents => {
    return { at, kind, state, ids: [task], attempts: [1] };
  };
  const claimed = (task: number, at = 0): SeenEvents => event(1, RUNNING, task, at);
  const completed = (task: number): SeenEvents => event(2, COMPLETED, task);
  const schedule: Schedule = {
    slots: [slot],
    uses: [{ lane: 7, slot: 1, weight: 1 }],
    edges: [{ up: 1, down: 3 }],
    laneOf: new Map([1, 2, 3].map((task) => [task, 7])),
  };

  test('nothing in a true feed', () => {
    assert.deepEqual(scheduleMisfits([claimed(1), claimed(2), completed(1), claimed(3)], schedule), []);
    assert.deepEqual(
      scheduleMisfits([claimed(1, 0), claimed(2, 500), completed(1), claimed(3, 1000)], {
        ...schedule,
        slots: [rated],
      }),
      [],
    );
    assert.deepEqual(slotFaults([{ ...slot, active: 2, counted: 2 }]), []);
  });

  test('one that ran above the limit, and a claim that came too early', () => {
    const misfits = scheduleMisfits([claimed(1), claimed(2), claimed(3)], schedule);
    assert.match(misfits.join('\n'), /3 ran with task 3, and 2 may\n.*3 was claimed before task 1/);
  });

  test('what a released task gave back', () => {
    const feed = [claimed(1), claimed(2), event(6, READY, 2), completed(1), claimed(3), claimed(2)];
    assert.deepEqual(scheduleMisfits(feed, schedule), []);
  });

  test('a rate that was exceeded', () => {
    const feed = [claimed(1, 0), claimed(2, 100), completed(1), claimed(3, 400)];
    assert.match(scheduleMisfits(feed, { ...schedule, slots: [rated] }).join(), /3 were started within 400 ms/);
  });

  test('a slot that leaked, and one that overflowed', () => {
    assert.match(slotFaults([{ ...slot, active: 1 }]).join(), /active 1, counted 0/);
    assert.match(slotFaults([{ ...slot, active: 3, counted: 3 }]).join(), /3 run, and 2 may/);
  });
});
