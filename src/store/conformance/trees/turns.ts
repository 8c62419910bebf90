import assert from 'node:assert/strict';
import type { Lease } from '../../../core/task/lease.ts';
import type { LogEntry } from '../../../core/task/log.ts';
import type { EntryAnswer, NewEntry, Then, Turn, TurnAnswer } from '../../store.ts';
import { DAY, type Scene, TTL } from '../kit/scene.ts';
import type { Topic } from '../kit/topic.ts';

export const ON: Then = { go: 'on' };
export const COMPLETE: Then = { go: 'end', to: 'completed', reason: 'none', result: '"ended"' };
const BACK: Then = { go: 'back', change: 'retried', delayMs: 0, refund: false, bounced: false, error: '"bad"' };
const RELEASE: Then = { go: 'back', change: 'released', delayMs: 500, refund: true, bounced: false };
const LOST: TurnAnswer = { kind: 'lost' };
export const STORED: EntryAnswer = { kind: 'stored' };

export const value = (key: string, text = '1'): NewEntry => ({ key, kind: 'value', value: text });
export const signal = (key: string, channel: string, body = '1', broadcast = false): NewEntry => {
  return { key, kind: 'signal', channel, body, broadcast };
};
const line = (seq: number, text: string): LogEntry => ({ seq, at: 5, stream: 'log', text });

export async function turn(
  { store }: Scene,
  { task, attempt }: Lease,
  entries: readonly NewEntry[],
  then: Then = ON,
  more: Partial<Turn> = {},
): Promise<TurnAnswer> {
  const [answer] = await store.taskTurn({ items: [{ task, attempt, entries, then, ...more }] });
  return answer as TurnAnswer;
}

export const did = (went: string, entries: readonly EntryAnswer[] = [], more: object = {}): object => {
  return { kind: 'done', went, cancelRequested: false, entries, ...more };
};

/** The answer without a `body` that is undefined. */
export function plainly(answer: TurnAnswer): object {
  return JSON.parse(JSON.stringify(answer)) as object;
}

const keysOf = async ({ store }: Scene, task: number): Promise<readonly string[]> =>
  (await store.journalList({ task })).map(({ key, kind }) => `${kind} ${key}`);

/** Each way in which a turn can end an attempt, and what the task is afterwards. */
const ENDS: readonly (readonly [name: string, then: Then, went: string, state: string])[] = [
  ['completes', COMPLETE, 'ended', 'completed'],
  ['fails', { go: 'end', to: 'failed', reason: 'gave_up', result: '"no"' }, 'ended', 'failed'],
  ['is cancelled', { go: 'end', to: 'cancelled', reason: 'requested' }, 'ended', 'cancelled'],
  ['is retried', BACK, 'back', 'ready'],
  ['is released for later', RELEASE, 'back', 'scheduled'],
  ['waits on a channel', { go: 'park', key: 'w', channel: 'c' }, 'parked', 'waiting'],
  ['waits for its time', { go: 'park', key: 'w', timeoutMs: 5 }, 'parked', 'waiting'],
];

export const TURNS: Topic = {
  name: 'turns',
  needs: ['whole'],
  cases: {
    'a turn remembers values of every kind, with when they began and what they took, and writes its lines': async (
      scene,
    ) => {
      const grant = await scene.running();
      await scene.pass(10);
      const entries: readonly NewEntry[] = [
        value('a', '{"n":1}'),
        { key: 'b[0]', kind: 'element', value: '2', began: 3, usage: '{"tokens":4}' },
        { key: 'c!', kind: 'mark', value: '1' },
        { key: 'wait:d', kind: 'wait', value: '{"outcome":"woken"}' },
      ];
      const logs = [line(1, 'one'), line(2, 'two')];
      const answer = await turn(scene, grant, entries, ON, { logs });
      assert.deepEqual(plainly(answer), did('on', [STORED, STORED, STORED, STORED]));
      const bare = { attempt: 1, at: grant.createdAt + 10, ref: undefined, began: undefined, usage: undefined };
      assert.deepEqual(await scene.store.journalList({ task: grant.task }), [
        { ...bare, key: 'a', kind: 'value', value: '{"n":1}' },
        { ...bare, key: 'b[0]', kind: 'element', value: '2', began: 3, usage: '{"tokens":4}' },
        { ...bare, key: 'c!', kind: 'mark', value: '1' },
        { ...bare, key: 'wait:d', kind: 'wait', value: '{"outcome":"woken"}' },
      ]);
      const read = await scene.store.logRead({ task: grant.task, limit: 10 });
      assert.deepEqual(
        read.map(({ attempt, seq, text }) => [attempt, seq, text]),
        [
          [1, 1, 'one'],
          [1, 2, 'two'],
        ],
      );
    },

    'a turn that goes on keeps its lease, and tells nobody': async (scene) => {
      const grant = await scene.running();
      const before = await scene.get(grant.task);
      const { last } = await scene.eventPage({ after: 0, limit: 10 });
      await turn(scene, grant, [value('a')]);
      assert.deepEqual(await scene.get(grant.task), before);
      assert.deepEqual((await scene.eventPage({ after: last, limit: 10 })).events, []);
    },

    'a turn that says nothing is a look at its own lease': async (scene) => {
      const grant = await scene.running();
      assert.deepEqual(plainly(await scene.unchanged(() => turn(scene, grant, []))), did('on'));
      assert.deepEqual(await scene.unchanged(() => turn(scene, { ...grant, attempt: 2 }, [])), LOST);
    },

    ...Object.fromEntries(
      ENDS.map(([name, then, went, state]) => [
        `what a turn remembers is there when its task ${name} in the same commit, and a repeat of it changes nothing`,
        async (scene: Scene) => {
          const grant = await scene.running();
          const entries = [value('a'), value('b', '"text"')];
          const logs = [line(1, 'last words')];
          const send = (): Promise<TurnAnswer> => turn(scene, grant, entries, then, { logs });
          assert.deepEqual(plainly(await send()), did(went, [STORED, STORED]));
          assert.equal((await scene.get(grant.task)).state, state);
          assert.deepEqual(await keysOf(scene, grant.task), ['value a', 'value b']);
          assert.equal((await scene.store.logRead({ task: grant.task, limit: 9 })).length, 1);
          assert.deepEqual(plainly(await scene.unchanged(send)), did(went, [STORED, STORED]));
          assert.deepEqual(await scene.unchanged(() => turn(scene, grant, [value('c')])), LOST);
        },
      ]),
    ),

    'what a turn gives back, it gives back as a return does: tries, error, suspicion': async (scene) => {
      const grant = await scene.running();
      await turn(scene, grant, [], BACK);
      const record = await scene.get(grant.task);
      assert.deepEqual([record.state, record.attempt, record.tries], ['ready', 1, 1]);
      const [attempt] = await scene.store.attemptList({ task: grant.task });
      assert.deepEqual([attempt?.outcome, attempt?.error], ['retried', '"bad"']);
      const next = await scene.claimOne();
      await turn(scene, next, [], RELEASE);
      assert.deepEqual((await scene.get(grant.task)).tries, 1, 'a release gives its try back');
    },

    'a turn of an attempt that was overtaken writes nothing, whatever it says': async (scene) => {
      const duty = await scene.duty('reaper', DAY);
      const stale = await scene.running();
      await scene.pass(TTL + 1);
      assert.deepEqual(plainly(await turn(scene, stale, [value('late')])), did('on', [STORED]), 'until the reap');
      await scene.reap(duty);
      const next = await scene.claimOne();
      for (const then of [ON, ...ENDS.map(([, one]) => one)]) {
        const logs = [line(1, 'late')];
        const entries = [value('k'), signal('s', 'c')];
        assert.deepEqual(await scene.unchanged(() => turn(scene, stale, entries, then, { logs })), LOST);
      }
      assert.deepEqual(plainly(await turn(scene, next, [value('k')], COMPLETE)), did('ended', [STORED]));
    },

    'the first value under a key stays, and the others of the turn are stored all the same': async (scene) => {
      const grant = await scene.running();
      await turn(scene, grant, [value('a', '1')]);
      const answer = await turn(scene, grant, [value('b'), value('a', '2'), value('c')]);
      assert.deepEqual(plainly(answer), did('on', [STORED, { kind: 'kept', value: '1' }, STORED]));
      assert.deepEqual(await keysOf(scene, grant.task), ['value a', 'value b', 'value c']);
    },

    'a signal is sent with its entry, once, and wakes who waits': async (scene) => {
      const waiter = await scene.running({ queue: 'waiters' });
      await turn(scene, waiter, [], { go: 'park', key: 'w', channel: 'c' });
      const grant = await scene.running();
      const entries = [signal('s', 'c', '"hello"'), signal('t', 'other', '"kept"')];
      const send = (): Promise<TurnAnswer> => turn(scene, grant, entries);
      assert.deepEqual(plainly(await send()), did('on', [STORED, STORED]));
      assert.equal((await scene.get(waiter.task)).state, 'ready');
      assert.equal((await scene.store.waitGet({ task: waiter.task }))?.body, '"hello"');
      assert.deepEqual(await keysOf(scene, grant.task), ['signal s', 'signal t']);
      assert.deepEqual(plainly(await scene.unchanged(send)), did('on', [STORED, STORED]), 'it is not sent again');
      const late = await scene.running({ queue: 'late' });
      const park: Then = { go: 'park', key: 'w', channel: 'other' };
      assert.deepEqual(plainly(await turn(scene, late, [], park)), did('woken', [], { body: '"kept"' }));
      const later = await scene.running({ queue: 'later' });
      assert.deepEqual(plainly(await turn(scene, later, [], park)), did('parked'), 'there was one of it');
    },

    'a broadcast of a turn wakes everybody who waits, and is not kept': async (scene) => {
      const waiters = [await scene.running({ queue: 'one' }), await scene.running({ queue: 'two' })];
      for (const one of waiters) await turn(scene, one, [], { go: 'park', key: 'w', channel: 'c' });
      const grant = await scene.running();
      await turn(scene, grant, [signal('s', 'c', '1', true)], COMPLETE);
      for (const { task } of waiters) assert.equal((await scene.get(task)).state, 'ready');
      const late = await scene.running({ queue: 'late' });
      const answer = await turn(scene, late, [], { go: 'park', key: 'w', channel: 'c' });
      assert.deepEqual(plainly(answer), did('parked'));
    },

    'a turn can signal and wait for the answer in one commit': async (scene) => {
      const echo = await scene.running({ queue: 'echo' });
      await turn(scene, echo, [], { go: 'park', key: 'w', channel: 'question' });
      const grant = await scene.running();
      const ask: Then = { go: 'park', key: 'w', channel: 'answer' };
      assert.deepEqual(plainly(await turn(scene, grant, [signal('q', 'question')], ask)), did('parked', [STORED]));
      const next = await scene.claimOne({ task: echo.task });
      await turn(scene, next, [signal('a', 'answer', '42')], COMPLETE);
      assert.equal((await scene.get(grant.task)).state, 'ready');
      assert.equal((await scene.store.waitGet({ task: grant.task }))?.body, '42');
    },

    'a signal that is there already wakes a turn that would wait, and what it says is stored': async (scene) => {
      const grant = await scene.running();
      await scene.store.signalSend({ items: [{ channel: 'c', body: '"first"' }] });
      const park: Then = { go: 'park', key: 'w', channel: 'c' };
      const woken = did('woken', [STORED], { body: '"first"' });
      assert.deepEqual(plainly(await turn(scene, grant, [value('a')], park)), woken);
      assert.deepEqual(await keysOf(scene, grant.task), ['value a']);
      const again = (): Promise<TurnAnswer> => turn(scene, grant, [value('a')], park);
      assert.deepEqual(plainly(await scene.unchanged(again)), woken, 'a repeat has the same signal');
      assert.deepEqual(plainly(await turn(scene, grant, [], COMPLETE)), did('ended'));
    },

    'a wait that comes after a later one of its attempt is lost, with all that it says': async (scene) => {
      const grant = await scene.running();
      for (const body of ['1', '2']) await scene.store.signalSend({ items: [{ channel: 'c', body }] });
      const wait = (nth: number): Then => ({ go: 'park', key: `w${nth}`, nth, channel: 'c' });
      await turn(scene, grant, [], wait(1));
      await turn(scene, grant, [], wait(2));
      assert.deepEqual(await scene.unchanged(() => turn(scene, grant, [value('a')], wait(1))), LOST);
    },

    'a task that was asked to stop may remember and end, but neither wait nor signal': async (scene) => {
      const asked = async (): Promise<Lease> => {
        const grant = await scene.running();
        await scene.store.taskCancel({ tasks: [grant.task] });
        return grant;
      };
      const first = await asked();
      const stored = { cancelRequested: true };
      assert.deepEqual(plainly(await turn(scene, first, [value('a')])), did('on', [STORED], stored));
      assert.deepEqual(plainly(await turn(scene, first, [value('b')], COMPLETE)), did('ended', [STORED], stored));
      const given = await asked();
      assert.deepEqual(plainly(await turn(scene, given, [value('a')], BACK)), did('cancelled', [STORED], stored));
      const ways: readonly (readonly [readonly NewEntry[], Then])[] = [
        [[value('a'), signal('s', 'c')], ON],
        [[value('a'), signal('s', 'c')], COMPLETE],
        [[value('a')], { go: 'park', key: 'w', timeoutMs: 5 }],
        [[value('a')], { go: 'park', key: 'w', channel: 'c' }],
      ];
      for (const [entries, then] of ways) {
        const grant = await asked();
        const logs = [line(1, 'last words')];
        const answers = entries.map(({ kind }): EntryAnswer => ({ kind: kind === 'value' ? 'stored' : 'none' }));
        const send = (): Promise<TurnAnswer> => turn(scene, grant, entries, then, { logs });
        assert.deepEqual(plainly(await send()), did('cancelled', answers, stored));
        const record = await scene.get(grant.task);
        assert.deepEqual([record.state, record.reason], ['cancelled', 'requested']);
        assert.deepEqual(await keysOf(scene, grant.task), ['value a']);
        assert.equal((await scene.store.logRead({ task: grant.task, limit: 9 })).length, 1);
        if (then.go === 'on') continue;
        assert.deepEqual(plainly(await scene.unchanged(send)), did('cancelled', answers, stored));
      }
      const late = await scene.running({ queue: 'late' });
      const answer = await turn(scene, late, [], { go: 'park', key: 'w', channel: 'c' });
      assert.deepEqual(plainly(answer), did('parked'), 'no signal was sent');
    },

    'many turns of many tasks go in one call, each with its own answer': async (scene) => {
      const tasks = await scene.pushMany(6);
      const [a, b, c, d, e, f] = (await scene.claim({ max: 6 })) as unknown as readonly Lease[];
      assert.equal(tasks.length, 6);
      await turn(scene, e as Lease, [value('k', '0')]);
      await scene.store.taskCancel({ tasks: [(f as Lease).task] });
      const item = (lease: Lease | undefined, entries: readonly NewEntry[], then: Then): Turn => {
        const { task, attempt } = lease as Lease;
        return { task, attempt, entries, then };
      };
      const answers = await scene.store.taskTurn({
        items: [
          item(c, [value('k')], ON),
          item(a, [value('k')], COMPLETE),
          item(d, [value('k')], { go: 'park', key: 'w', timeoutMs: 9 }),
          item(b, [value('k')], BACK),
          item({ task: 4711, attempt: 1 }, [value('k')], ON),
          item(e, [value('k')], ON),
          item(f, [value('k'), signal('s', 'c')], ON),
          item({ ...(c as Lease), attempt: 2 }, [value('x')], COMPLETE),
        ],
      });
      assert.deepEqual(answers.map(plainly), [
        did('on', [STORED]),
        did('ended', [STORED]),
        did('parked', [STORED]),
        did('back', [STORED]),
        LOST,
        did('on', [{ kind: 'kept', value: '0' }]),
        did('cancelled', [STORED, { kind: 'none' }], { cancelRequested: true }),
        LOST,
      ]);
      const states = await Promise.all(
        [a, b, c, d, f].map(async (one) => (await scene.get((one as Lease).task)).state),
      );
      assert.deepEqual(states, ['completed', 'ready', 'running', 'waiting', 'cancelled']);
    },

    'two turns of one attempt in a call are taken one after the other': async (scene) => {
      const grant = await scene.running();
      const { task, attempt } = grant;
      const answers = await scene.store.taskTurn({
        items: [
          { task, attempt, entries: [value('a', '1')], then: ON },
          { task, attempt, entries: [value('a', '2'), value('b')], then: COMPLETE },
          { task, attempt, entries: [value('c')], then: ON },
        ],
      });
      assert.deepEqual(answers.slice(0, 2).map(plainly), [
        did('on', [STORED]),
        did('ended', [{ kind: 'kept', value: '1' }, STORED]),
      ]);
      // The store decides whether the third came before the end.
      assert.equal((await scene.get(task)).state, 'completed');
    },

    'a turn that ends a task counts down those that wait for it': async (scene) => {
      const child = await scene.running({ queue: 'children' });
      const parent = await scene.running();
      await turn(scene, parent, [], { go: 'park', key: 'w', children: [child.task] });
      assert.equal((await scene.get(parent.task)).state, 'waiting');
      await turn(scene, child, [value('a')], COMPLETE);
      assert.equal((await scene.get(parent.task)).state, 'ready');
    },

    'large values and results of a turn come through unchanged': async (scene) => {
      const long = JSON.stringify('é🎄'.repeat(20_000));
      const grant = await scene.running();
      await turn(scene, grant, [value('a', long)], { ...COMPLETE, result: long } as Then);
      assert.equal((await scene.get(grant.task)).result, long);
      assert.equal((await scene.store.journalList({ task: grant.task }))[0]?.value, long);
    },
  },
};
