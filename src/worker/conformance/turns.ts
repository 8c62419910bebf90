import assert from 'node:assert/strict';
import type { Assignment, Session, TurnEntry, TurnThen } from '../../protocol/link.ts';
import { HANDLER, type LinkCase, type LinkScene, type LinkTopic, QUEUE, refusal } from './scene.ts';
import { childEntry, childOf, ON, remember, spawn } from './turning.ts';

const value = (key: string, text: unknown = key): TurnEntry => ({ key, kind: 'value', value: text });
const signal = (key: string, channel: string, body: unknown): TurnEntry => ({ key, kind: 'signal', channel, body });

/** Every way that a turn can go on. */
const THENS: Readonly<Record<string, TurnThen>> = {
  'goes on': ON,
  waits: { go: 'park', key: 'w', channel: 'nobody speaks here' },
  completes: { go: 'complete', result: 'of the turn' },
  fails: { go: 'fail', error: 'of the turn', giveUp: true },
};

/** The journal of a task: each key with its kind. */
async function journalOf({ operator }: LinkScene, task: number): Promise<readonly string[]> {
  return (await operator.journal(task)).map(({ key, kind }) => `${key} ${kind}`).toSorted();
}

/** One entry of each kind. */
const ALL: readonly TurnEntry[] = [
  value('v'),
  childEntry('c', { queue: QUEUE, handler: HANDLER }),
  signal('s', 'd', 1),
];

function stale(then: TurnThen): LinkCase {
  return async (scene) => {
    const session = await scene.open();
    const { stale: old, fresh } = await scene.overtaken(session);
    const before = await scene.get(old.task);
    assert.equal(await refusal(session.turn(old, { entries: ALL, then })), 'LEASE_LOST');
    assert.deepEqual(await scene.get(old.task), before);
    assert.deepEqual(await journalOf(scene, old.task), []);
    assert.deepEqual(await scene.claim(session), [], 'no child was born');
    const { went } = await session.turn(fresh, { entries: [], then: { go: 'park', key: 'w', channel: 'd' } });
    assert.equal(went, 'parked', 'no signal was sent');
  };
}

/** A task that was asked to stop spawns and signals nothing more; its earlier entries are kept. */
function stopped(then: TurnThen, entries: readonly TurnEntry[], brief: string): LinkCase {
  return async (scene) => {
    const session = await scene.open();
    const held = await scene.running(session, { maxAttempts: 1 });
    await scene.operator.cancel(held.task);
    await session.turn(held, { entries, then });
    assert.equal(await scene.brief(held.task), brief);
    assert.deepEqual(await journalOf(scene, held.task), ['v value']);
    assert.deepEqual(await scene.claim(session), [], 'no child was born');
  };
}

/** The same turn twice, as after a lost answer, takes effect once. */
function repeated(then: TurnThen): LinkCase {
  return async (scene) => {
    const session = await scene.open();
    const held = await scene.running(session, { maxAttempts: 1 });
    const first = await session.turn(held, { entries: ALL, then });
    const brief = await scene.brief(held.task);
    assert.deepEqual(await session.turn(held, { entries: ALL, then }), first);
    assert.equal(await scene.brief(held.task), brief);
    assert.deepEqual(await journalOf(scene, held.task), ['c child', 's signal', 'v value']);
    const [child, ...others] = await scene.claim(session);
    assert.deepEqual([child?.task, others], [childOf(first.entries[1]).task, []], 'one child');
    const listener = child as Assignment;
    const hear = (key: string): TurnThen => ({ go: 'park', key, channel: 'd' });
    assert.equal((await session.turn(listener, { entries: [], then: hear('one') })).body, '1');
    assert.equal((await session.turn(listener, { entries: [], then: hear('two') })).went, 'parked', 'one signal');
  };
}

/** A refused turn writes nothing, and the attempt goes on. */
async function writesNothing(scene: LinkScene, session: Session, held: Assignment): Promise<void> {
  assert.deepEqual(await journalOf(scene, held.task), []);
  assert.equal(await scene.brief(held.task), 'running none 1/1');
  assert.equal(await remember(session, held, 'after', 1), '1');
  await session.complete(held, 1);
}

const perThen = (sentence: (then: string) => string, make: (then: TurnThen) => LinkCase): Record<string, LinkCase> =>
  Object.fromEntries(Object.entries(THENS).map(([name, then]) => [sentence(name), make(then)]));

const [PLAIN, BEARING] = [[value('v')], [value('v'), childEntry('c', { queue: QUEUE, handler: HANDLER })]];

export const TURNS: LinkTopic = {
  name: 'turns',
  cases: {
    'a turn writes all that it says and waits, at once': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const usage = { tokens: 7 };
      const entries: readonly TurnEntry[] = [
        { key: 'v', kind: 'value', value: { to: 'ü' }, began: 5, usage },
        { key: 'e', kind: 'element', value: null },
        { key: 'm', kind: 'mark', value: 1 },
        childEntry('c'),
        signal('s', 'other', 2),
      ];
      const turned = await session.turn(held, { entries, then: { go: 'park', key: 'w', channel: 'c' } });
      const [v, e, m, c, s] = turned.entries;
      assert.deepEqual([turned.went, v, e, m, s], ['parked', '{"to":"ü"}', 'null', '1', 'null']);
      assert.equal(await scene.brief(held.task), 'waiting none 0/1');
      assert.equal(await scene.brief(childOf(c).task), 'ready none 0/0');
      await scene.operator.waits.signal('c', 1);
      await scene.world.advance(1000);
      const next = await scene.claimOne(session);
      const read = new Map((await session.journal(next)).map((one) => [one.key, one.value]));
      assert.deepEqual([read.get('v'), read.get('e'), read.get('m'), read.get('c')], [v, e, m, c]);
      assert.equal(read.size, 5);
    },

    'a turn draws from the budget of its tree, hears of its soft bound, and waits where there is too little': async (
      scene,
    ) => {
      const session = await scene.open();
      const held = await scene.running(session);
      await scene.operator.budgets.set(held.task, { tokens: { soft: 8, hard: 10 } });
      const tokens = (amount: number) => [{ unit: 'tokens', amount }] as const;
      const free = await session.turn(held, { entries: [value('a')], draw: tokens(7), then: ON });
      assert.deepEqual([free.went, free.budget], ['on', {}]);
      const used = await session.turn(held, {
        entries: [value('b')],
        spend: [{ unit: 'tokens', amount: 3, drawn: 7 }],
        draw: tokens(6),
        then: ON,
      });
      assert.deepEqual([used.went, used.budget], ['on', { soft: true }]);
      const short = { entries: [value('c')], spend: tokens(6), draw: tokens(2), then: ON };
      const turned = await session.turn(held, short);
      assert.deepEqual([turned.went, turned.budget, turned.entries], ['parked', { soft: true, waits: true }, ['"c"']]);
      assert.equal(await scene.brief(held.task), 'waiting none 0/1');
      await scene.operator.budgets.set(held.task, { tokens: { hard: 11 } });
      await scene.world.advance(1000);
      const next = await scene.claimOne(session);
      assert.equal(next.task, held.task);
      assert.equal((await session.turn(next, { entries: [value('d')], draw: tokens(2), then: ON })).went, 'on');
      const wrong = { entries: [value('e')], draw: tokens(-1), then: ON };
      assert.equal(await refusal(session.turn(next, wrong)), 'INVALID_INPUT');
    },

    'children are born and waited for by their keys in one turn': async (scene) => {
      const session = await scene.open();
      const parent = await scene.running(session);
      const entries = ['a', 'b', 'c'].map((key) => childEntry(key));
      const children = entries.map(({ key }) => ({ child: key }));
      const then: TurnThen = { go: 'park', key: 'w', children };
      const turned = await session.turn(parent, { entries, then });
      assert.equal(turned.went, 'parked');
      for (const text of turned.entries) {
        assert.equal(await scene.brief(parent.task), 'waiting none 0/1');
        await scene.operator.cancel(childOf(text).task);
      }
      await scene.world.advance(1000);
      assert.equal((await scene.claimOne(session)).task, parent.task);
    },

    'as many ends of children as are needed are enough': async (scene) => {
      const session = await scene.open();
      const parent = await scene.running(session);
      const entries = ['a', 'b', 'c'].map((key) => childEntry(key));
      const children = entries.map(({ key }) => ({ child: key }));
      const turned = await session.turn(parent, { entries, then: { go: 'park', key: 'w', children, need: 2 } });
      const [a, , c] = turned.entries.map(childOf);
      await scene.operator.cancel(c?.task ?? 0);
      assert.equal(await scene.brief(parent.task), 'waiting none 0/1');
      await scene.operator.cancel(a?.task ?? 0);
      await scene.world.advance(1000);
      assert.equal((await scene.claimOne(session)).task, parent.task);
    },

    'a child waits for another child of the same turn, and for tasks that are there': async (scene) => {
      const session = await scene.open();
      const parent = await scene.running(session);
      const there = await spawn(session, parent, {}, 'there');
      const down = { ...childEntry('down'), after: [{ on: { child: 'up' } }, { on: there.id, optional: true }] };
      const { entries } = await session.turn(parent, { entries: [childEntry('up'), down as TurnEntry], then: ON });
      const [up, late] = entries.map(childOf);
      assert.equal(await scene.brief(late?.task ?? 0), 'waiting none 0/0');
      await scene.operator.cancel(there.task);
      assert.equal(await scene.brief(late?.task ?? 0), 'waiting none 0/0');
      await scene.operator.cancel(up?.task ?? 0);
      assert.match(await scene.brief(late?.task ?? 0), /^cancelled/);
    },

    'a turn completes its task, with all that it writes': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const turned = await session.turn(held, { entries: BEARING, then: { go: 'complete', result: { n: 1 } } });
      assert.deepEqual([turned.went, turned.state, turned.entries[0]], ['ended', 'completed', '"v"']);
      assert.equal(await scene.brief(held.task), 'completed none 1/1');
      assert.equal((await scene.get(held.task)).result, '{"n":1}');
      assert.deepEqual(await journalOf(scene, held.task), ['c child', 'v value']);
      assert.equal((await scene.claimOne(session)).task, childOf(turned.entries[1]).task);
      assert.deepEqual(await session.renew([held]), ['lost']);
    },

    'a turn fails its task by the policy of its retries, with all that it writes': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session, { maxAttempts: 2, retry: { baseMs: 50 } });
      const fail = (error: unknown, more = {}): TurnThen => ({ go: 'fail', error, ...more });
      const back = await session.turn(held, { entries: PLAIN, then: fail(new Error('again')) });
      assert.deepEqual([back.went, back.state, back.entries], ['back', 'scheduled', ['"v"']]);
      const [attempt] = await scene.operator.attempts(held.task);
      assert.deepEqual([attempt?.outcome, JSON.parse(attempt?.error ?? '{}').message], ['retried', 'again']);
      await scene.world.advance(1000);
      await scene.tick('stager');
      const next = await scene.claimOne(session);
      assert.deepEqual(await session.journal(next), [{ key: 'v', value: '"v"' }]);
      const over = await session.turn(next, { entries: [value('last')], then: fail('no') });
      assert.deepEqual([over.went, over.state], ['ended', 'failed']);
      assert.equal(await scene.errorOf(held.task), 'no');
      assert.equal(await scene.brief(held.task), 'failed exhausted 2/2');
      const given = await scene.running(session);
      assert.equal((await session.turn(given, { entries: [], then: fail('no', { giveUp: true }) })).state, 'failed');
      const later = await scene.running(session);
      const { state } = await session.turn(later, { entries: [], then: fail('no', { retryAfterMs: 500 }) });
      assert.deepEqual([state, await scene.brief(later.task)], ['scheduled', 'scheduled none 0/1']);
    },

    'a turn that is refused for one child writes nothing, and keeps the lease': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const unique = { ...childEntry('c', { unique: 'taken', input: 2 }) };
      await scene.operator.push({ queue: 'children', handler: 'play', input: 1, unique: 'taken' });
      for (const then of Object.values(THENS)) {
        const turn = { entries: [value('v'), childEntry('fine'), unique, signal('s', 'd', 1)], then };
        assert.equal(await refusal(session.turn(held, turn)), 'UNIQUE_CONFLICT');
      }
      await writesNothing(scene, session, held);
    },

    'a turn that waits for what does not exist writes nothing, and keeps the lease': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const turn = (after: unknown): Promise<unknown> => {
        const entries = [value('v'), { ...childEntry('c'), after: [{ on: after }] } as TurnEntry];
        return session.turn(held, { entries, then: ON });
      };
      assert.equal(await refusal(turn(4711)), 'NOT_FOUND');
      assert.equal(await refusal(turn('task_nonsense')), 'INVALID_ID');
      const then: TurnThen = { go: 'park', key: 'w', children: [{ child: 'none' }] };
      assert.equal(await refusal(session.turn(held, { entries: PLAIN, then })), 'INVALID_INPUT');
      await writesNothing(scene, session, held);
    },

    'a task that waits for itself, or for one that waits for it, is refused and keeps its lease': async (scene) => {
      const session = await scene.open();
      const parent = await scene.running(session);
      const waitFor = (...children: (number | string)[]): TurnThen => ({ go: 'park', key: 'w', children });
      assert.equal(await refusal(session.turn(parent, { entries: [], then: waitFor(parent.id) })), 'INVALID_INPUT');
      const entries = [childEntry('c', { queue: QUEUE, handler: HANDLER })];
      const then: TurnThen = { go: 'park', key: 'w', children: [{ child: 'c' }] };
      assert.equal((await session.turn(parent, { entries, then })).went, 'parked');
      const child = await scene.claimOne(session);
      const circle = session.turn(child, { entries: PLAIN, then: waitFor(parent.id) });
      assert.equal(await refusal(circle), 'INVALID_INPUT');
      await writesNothing(scene, session, child);
      await session.complete(child, 1);
      await scene.world.advance(1000);
      assert.equal((await scene.claimOne(session)).task, parent.task);
    },

    'what a turn may hold is bounded, and one beyond it keeps the lease': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const many = (n: number, make: (key: string) => TurnEntry): Promise<unknown> =>
        session.turn(held, { entries: Array.from({ length: n }, (_, i) => make(`k${i}`)), then: ON });
      assert.equal(await refusal(many(1001, (key) => value(key))), 'INVALID_INPUT');
      assert.equal(await refusal(many(501, (key) => childEntry(key))), 'INVALID_INPUT');
      assert.equal(await refusal(many(101, (key) => signal(key, 'c', 1))), 'INVALID_INPUT');
      assert.equal(await refusal(many(2, () => value('same'))), 'INVALID_INPUT');
      assert.equal(await refusal(many(1, () => value('k', 'x'.repeat(1_048_576)))), 'TOO_LARGE');
      assert.equal(await refusal(many(1, () => value('k\n'))), 'INVALID_INPUT');
      assert.ok(
        ['INVALID_INPUT', 'TOO_LARGE'].includes(await refusal(many(5, (key) => value(key, 'x'.repeat(900_000))))),
      );
      for (const odd of [{ kind: 'gift' }, { key: 7 }, { began: -1 }]) {
        const entry = { ...value('k'), ...odd } as TurnEntry;
        assert.equal(await refusal(session.turn(held, { entries: [entry], then: ON })), 'INVALID_INPUT');
      }
      const nowhere = { go: 'away' } as unknown as TurnThen;
      assert.equal(await refusal(session.turn(held, { entries: PLAIN, then: nowhere })), 'INVALID_INPUT');
      await writesNothing(scene, session, held);
    },

    'the outcome of a wait holds the largest signal that is accepted': async (scene) => {
      const session = await scene.open();
      const held = await scene.running(session);
      const outcome = (body: unknown): TurnEntry => ({
        key: 'w',
        kind: 'wait',
        value: { outcome: 'woken', value: body },
      });
      const turn = (body: unknown): Promise<unknown> => session.turn(held, { entries: [outcome(body)], then: ON });
      assert.equal(await refusal(turn('x'.repeat(1_048_576 + 1000))), 'TOO_LARGE');
      await turn('x'.repeat(1_048_574));
      assert.deepEqual(await journalOf(scene, held.task), ['w wait']);
    },

    ...perThen(
      (then) => `a turn that ${then} is refused once another attempt owns the task, and writes nothing`,
      stale,
    ),
    ...perThen((then) => `a turn that ${then}, said again because its answer was lost, does nothing twice`, repeated),

    'of a task that was asked to stop, a turn that goes on with what it has done goes on': stopped(
      ON,
      PLAIN,
      'running none 1/1',
    ),
    'of a task that was asked to stop, a turn that bears a child ends it': stopped(
      ON,
      BEARING,
      'cancelled requested 1/1',
    ),
    'of a task that was asked to stop, a turn that waits ends it': stopped(
      THENS.waits as TurnThen,
      PLAIN,
      'cancelled requested 1/1',
    ),
    'of a task that was asked to stop, a turn that completes it completes it': stopped(
      THENS.completes as TurnThen,
      PLAIN,
      'completed none 1/1',
    ),
    'of a task that was asked to stop, a turn that completes it and bears a child ends it as cancelled': stopped(
      THENS.completes as TurnThen,
      BEARING,
      'cancelled requested 1/1',
    ),
    'of a task that was asked to stop, a turn that fails it for good fails it': stopped(
      THENS.fails as TurnThen,
      PLAIN,
      'failed gave_up 1/1',
    ),
  },
};
