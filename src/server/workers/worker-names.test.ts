import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { openSqlite } from '../../store/sqlite/open.ts';
import type { Store } from '../../store/store.ts';
import { VirtualWorld } from '../../testing.ts';
import { type NameHolder, WorkerNames } from './worker-names.ts';

interface Holder extends NameHolder {
  silent: boolean;
  times: number;
}

function holder(id: string, roams = false): Holder {
  const one: Holder = {
    holder: id,
    roams,
    silent: false,
    times: 0,
    isSilent: () => one.silent,
    replaced: () => {
      one.times++;
    },
  };
  return one;
}

const isTaken = (error: unknown): boolean => isEngineError(error, 'CONFLICT');

/** The names at two processes on one store. */
async function scene(t: TestContext) {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  t.after(() => store.close());
  const at = (process: string): WorkerNames => new WorkerNames({ store, world, process });
  return { world, store, names: at('p'), others: at('q') };
}

const enter = (store: Store, names: WorkerNames, process: string, by: NameHolder): Promise<number> => {
  names.take('box', by);
  const worker = { name: 'box', incarnation: by.holder, slots: 1, tags: [], takes: { holder: by.holder, process } };
  return names.enter('box', by, () => store.workerRegister(worker));
};

const SECOND = 1000;

test('a name has one holder, whichever link it comes by', async (t) => {
  const { names } = await scene(t);
  const [first, other] = [holder('box/1'), holder('box/2')];
  names.take('box', first);
  names.take('box', first);
  assert.throws(() => names.take('box', other), isTaken);
  names.take('laptop', other);
  assert.deepEqual([first.times, other.times], [0, 0]);
});

test('the same incarnation replaces its own, and another one waits until the holder is silent', async (t) => {
  const { names } = await scene(t);
  const [first, again, other] = [holder('box/1'), holder('box/1'), holder('box/2')];
  names.take('box', first);
  names.take('box', again);
  assert.deepEqual([first.times, again.times], [1, 0]);
  assert.throws(() => names.take('box', other), isTaken);
  again.silent = true;
  names.take('box', other);
  assert.deepEqual([again.times, other.times], [1, 0]);
});

test('only the holder of a name releases it', async (t) => {
  const { names } = await scene(t);
  const [first, again, other] = [holder('box/1'), holder('box/1'), holder('box/2')];
  names.take('box', first);
  names.take('box', again);
  assert.equal(names.release('box', first), false);
  assert.throws(() => names.take('box', other), isTaken);
  assert.equal(names.release('box', again), true);
  names.take('box', other);
  assert.equal(names.release('nobody', other), false);
});

test('a name that somebody has at another process is taken, until it is released there', async (t) => {
  const { store, names, others } = await scene(t);
  const [first, other] = [holder('box/1'), holder('box/2')];
  await enter(store, names, 'p', first);
  await assert.rejects(enter(store, others, 'q', other), isTaken);
  others.release('box', other);
  names.release('box', first);
  await names.close();
  await enter(store, others, 'q', holder('box/2'));
});

test('a connection whose name has gone to another process ends within a second, and a session of calls goes on', async (t) => {
  for (const roams of [false, true]) {
    const { world, store, names, others } = await scene(t);
    const [before, after] = [holder('box/1', roams), holder('box/1', roams)];
    await enter(store, names, 'p', before);
    await enter(store, others, 'q', after);
    await world.advance(SECOND);
    assert.deepEqual([before.times, after.times], [roams ? 0 : 1, 0]);
    // What ends late does not free the name of the one that moved.
    names.release('box', before);
    await names.close();
    await world.advance(SECOND);
    assert.equal(after.times, 0);
  }
});

test('whoever was silent for long and has lost its name to another is ended as soon as it is heard of again', async (t) => {
  const { world, store, names, others } = await scene(t);
  const [first, other] = [holder('box/1', true), holder('box/2')];
  const worker = await enter(store, names, 'p', first);
  first.silent = true;
  await store.workerBeat({ beats: [{ worker, state: 'offline' }] });
  await enter(store, others, 'q', other);
  await world.advance(SECOND);
  assert.equal(first.times, 0, 'it is not there');
  first.silent = false;
  await world.advance(SECOND);
  assert.deepEqual([first.times, other.times], [1, 0]);
});

test('who hangs up while it registers leaves the name free', async (t) => {
  const { store, names, others } = await scene(t);
  const first = holder('box/1');
  const registered = enter(store, names, 'p', first);
  names.release('box', first);
  await registered;
  await names.close();
  await enter(store, others, 'q', holder('box/2'));
});
