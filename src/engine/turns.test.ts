import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../store/sqlite/open.ts';
import { VirtualWorld } from '../testing.ts';
import { Engine } from './engine.ts';
import { type Asker, type Turn, Turns } from './turns.ts';

interface Waiting {
  readonly name: string;
  readonly turn: Turn;
}

function rig() {
  const world = new VirtualWorld();
  /** Names of those for whom there is work; '*': for everybody. */
  const work = new Set<string>();
  const state = { stale: false, looks: 0 };
  const turns = new Turns({ world, pollMs: 1000, stale: () => state.stale, idle: () => work.size === 0 });
  const woken: string[] = [];
  const join = (name: string, asker: Partial<Asker> = {}, signal?: AbortSignal, maxMs?: number): Waiting => {
    const seeks = (): { found: boolean; looked: number } => {
      state.looks++;
      return { found: work.has(name) || work.has('*'), looked: 1 };
    };
    const turn = turns.join({ priority: 0, freeShare: 1, since: 0, seeks, ...asker }, signal, maxMs);
    wait({ name, turn });
    return { name, turn };
  };
  /** It waits, and notes when it is woken; it looks until it is told to wait again. */
  const wait = ({ name, turn }: Waiting): void =>
    void turn.sign().then(() => {
      woken.push(name);
      turn.look();
    });
  const joinMany = (count: number, asker: (i: number) => Partial<Asker> = (i) => ({ since: i })): Waiting[] =>
    Array.from({ length: count }, (_, i) => join(`w${i}`, asker(i)));
  const told = async (): Promise<readonly string[]> => {
    await world.settle();
    return woken.splice(0);
  };
  return { world, work, state, turns, join, joinMany, wait, told };
}

test('who waits alone is woken by every sign, and nobody looks whether there is work for it', async () => {
  const { turns, join, wait, told, state } = rig();
  const one = join('one');
  for (let i = 0; i < 3; i++) {
    turns.wake();
    assert.deepEqual(await told(), ['one']);
    wait(one);
  }
  assert.equal(state.looks, 0);
});

test('those of a short line are woken in their order: better, less busy, waiting for longer', async () => {
  const { turns, join, told } = rig();
  join('late', { since: 9 });
  join('busy', { freeShare: 0.1 });
  join('early', { since: 3 });
  join('better', { priority: 5, freeShare: 0.1, since: 9 });
  join('worse', { priority: -5 });
  turns.wake();
  assert.deepEqual(await told(), ['better', 'early', 'late', 'busy', 'worse']);
});

test('a sign that comes during a look is not missed, in a short line and in a long one', async () => {
  for (const others of [1, 200]) {
    const { turns, join, joinMany, wait, told, work } = rig();
    const one = join('one', { priority: 9 });
    joinMany(others);
    work.add('one');
    turns.wake();
    assert.ok((await told()).includes('one'));
    turns.wake();
    assert.ok(!(await told()).includes('one'), 'it looks');
    wait(one);
    assert.deepEqual(
      (await told()).filter((name) => name === 'one'),
      ['one'],
    );
  }
});

test('an abort, the end of its time and the poll end a wait, and nothing is left behind', async () => {
  const { world, turns, join, told } = rig();
  const control = new AbortController();
  const [one, two] = [join('one', {}, control.signal), join('two', {}, undefined, 300)];
  control.abort();
  assert.deepEqual(await told(), ['one']);
  await world.advance(300);
  assert.deepEqual(await told(), ['two']);
  const three = join('three');
  await world.advance(1000);
  assert.deepEqual(await told(), ['three']);
  for (const { turn } of [one, two, three]) turn.leave();
  assert.deepEqual([turns.awaited, world.waits], [false, []]);
});

test('of a long line only those are woken for whom there is work, the best first and not all at once', async () => {
  const { turns, joinMany, wait, told, work } = rig();
  const line = joinMany(500, (i) => ({ priority: i % 5, since: i }));
  work.add('*');
  turns.wake();
  const first = await told();
  assert.equal(first.length, 64);
  assert.deepEqual(first.slice(0, 3), ['w4', 'w9', 'w14']);
  assert.ok(first.every((name) => Number(name.slice(1)) % 5 === 4));
  // They looked, and something is left: the next ones come.
  for (const one of line) if (first.includes(one.name)) wait(one);
  const second = await told();
  assert.equal(second.length, 64);
  assert.deepEqual(new Set(first).intersection(new Set(second)), new Set());
  work.clear();
  for (const one of line) if (second.includes(one.name)) wait(one);
  assert.deepEqual(await told(), [], 'nothing is left');
  work.add('w77');
  turns.wake();
  assert.deepEqual(await told(), ['w77']);
});

test('every one of a long line has its turn while there is work, and each once', async () => {
  const { turns, joinMany, wait, told, work } = rig();
  const line = joinMany(300);
  work.add('*');
  turns.wake();
  const seen: string[] = [];
  for (let some = await told(); some.length > 0; some = await told()) {
    seen.push(...some);
    for (const one of line) if (some.includes(one.name)) wait(one);
    if (seen.length >= 300) break;
  }
  assert.deepEqual(
    seen,
    line.map(({ name }) => name),
  );
});

test('who leaves while the others of its batch look holds up nobody', async () => {
  const { turns, joinMany, wait, told, work } = rig();
  const line = joinMany(200);
  work.add('*');
  turns.wake();
  const first = new Set(await told());
  for (const [i, one] of line.entries()) {
    if (!first.has(one.name)) continue;
    if (i % 2 === 0) one.turn.leave();
    else wait(one);
  }
  assert.equal((await told()).length, 64);
});

test('a backlog that none of two thousand can serve costs no look at each of them for every sign', async () => {
  const { world, turns, joinMany, told, work, state } = rig();
  joinMany(2000);
  work.add('nobody here');
  for (let i = 0; i < 1000; i++) turns.wake();
  assert.deepEqual(await told(), []);
  assert.ok(state.looks <= 2000, `${state.looks} looks for a thousand signs`);
  // It rests, and looks again once for all signs that came meanwhile.
  work.add('w1999');
  await world.advance(20);
  assert.deepEqual(await told(), ['w1999']);
  const before = state.looks;
  await world.advance(10);
  for (let ms = 0; ms < 200; ms++) {
    turns.wake();
    await world.advance(1);
  }
  assert.ok(state.looks - before <= 200 * 2000 * 0.06, `${state.looks - before} looks in 200 ms`);
});

test('a look through very many lanes stops at its bound, and goes on after a rest', async () => {
  const { world, turns, join, told, work } = rig();
  let looked = 0;
  for (let i = 0; i < 100; i++) {
    join(`w${i}`, {
      since: i,
      seeks: (budget) => {
        const cost = Math.min(budget, 1000);
        looked += cost;
        return { found: i === 99, looked: cost };
      },
    });
  }
  work.add('w99');
  turns.wake();
  assert.deepEqual(await told(), []);
  assert.equal(looked, 5000);
  await world.advance(40);
  assert.deepEqual(await told(), ['w99']);
});

test('when what is known is old the best of a long line looks, whatever is believed', async () => {
  const { turns, joinMany, wait, told, state, work } = rig();
  const line = joinMany(100, (i) => ({ priority: i === 60 ? 1 : 0, since: i }));
  turns.wake();
  assert.deepEqual(await told(), []);
  state.stale = true;
  turns.wake();
  assert.deepEqual(await told(), ['w60']);
  // What it found is for others.
  state.stale = false;
  work.add('w7');
  turns.wake();
  wait(line[60] as Waiting);
  assert.deepEqual(
    (await told()).toSorted((a, b) => a.localeCompare(b)),
    ['w60', 'w7'],
  );
});

test('who was woken and never came back holds up a long line no longer than the poll', async () => {
  const { world, turns, joinMany, told, work } = rig();
  joinMany(100);
  work.add('w0');
  turns.wake();
  assert.deepEqual(await told(), ['w0']);
  work.add('w1');
  turns.wake();
  assert.deepEqual(await told(), [], 'it looks still');
  await world.advance(1000);
  assert.deepEqual(await told(), ['w1']);
});

async function engineRig(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world, housekeeping: false });
  t.after(() => store.close());
  const engine = new Engine({ store, world });
  const register = (name: string, more: { priority?: number; slots?: number } = {}): Promise<number> =>
    engine.registerWorker({ name, incarnation: name, slots: 4, ...more });
  const got: string[] = [];
  const wait = (name: string, worker: number, max = 1): void => {
    void engine.claim({ worker, max, waitMs: 600_000, handlers: ['h'] }).then((grants) => {
      for (const _ of grants) got.push(name);
    });
  };
  const push = async (count = 1): Promise<void> => {
    await engine.pushMany(Array.from({ length: count }, () => ({ queue: 'q', handler: 'h' })));
    await world.settle();
  };
  return { world, store, engine, register, wait, push, got };
}

test('of several that wait the best worker gets the next task, however they came', async (t) => {
  const { world, register, wait, push, got } = await engineRig(t);
  const names = { plain: await register('plain'), better: await register('better', { priority: 5 }) };
  // The fleet is looked at with a first claim.
  wait('plain', names.plain);
  await push();
  assert.deepEqual(got.splice(0), ['plain']);
  await world.advance(1500);
  wait('plain', names.plain);
  wait('better', names.better);
  await world.settle();
  await push();
  assert.deepEqual(got.splice(0), ['better']);
});

test('of equals the less busy one gets it, and of those the one that has waited longest', async (t) => {
  const { world, register, wait, push, got } = await engineRig(t);
  const workers = new Map<string, number>();
  for (const name of ['busy', 'late', 'early']) workers.set(name, await register(name));
  const workerOf = (name: string): number => workers.get(name) as number;
  wait('early', workerOf('early'));
  await push();
  got.length = 0;
  await world.advance(1500);
  wait('busy', workerOf('busy'), 1);
  wait('early', workerOf('early'), 4);
  await world.advance(5);
  wait('late', workerOf('late'), 4);
  await world.settle();
  for (const expected of ['early', 'late', 'busy']) {
    await push();
    assert.deepEqual(got.splice(0), [expected]);
  }
});

test('five hundred that wait get five hundred tasks, and one that comes alone asks the store once', async (t) => {
  const { world, store, register, wait, push, got } = await engineRig(t);
  for (let i = 0; i < 500; i++) wait(`w${i}`, await register(`w${i}`));
  await world.settle();
  const claims = t.mock.method(store, 'taskClaim');
  await push(1);
  assert.equal(got.length, 1);
  const asked = claims.mock.calls.flatMap((call) => call.arguments[0].claims).length;
  assert.ok(asked <= 2 * 64, `${asked} of 500 asked for one task`);
  await push(499);
  await world.advance(50);
  assert.equal(got.length, 500);
  assert.equal(new Set(got).size, 500);
});
