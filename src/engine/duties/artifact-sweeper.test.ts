import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openSqlite } from '../../store/sqlite/open.ts';
import { VirtualWorld } from '../../testing.ts';
import { Engine } from '../engine.ts';
import { type Log, SILENT } from '../log.ts';
import { Roster } from './roster.ts';

const HOUR = 3_600_000;

/** A place for bytes that can be out of reach. */
class Place {
  readonly deleted: string[] = [];
  down = false;
  /** One that it never deletes. */
  stuck: string | undefined;
  #calls = 0;

  /** How often it was asked. */
  calls(): number {
    return this.#calls;
  }

  readonly remove = async (keys: readonly string[]): Promise<void> => {
    this.#calls += 1;
    if (this.down) throw new Error('connection refused');
    if (keys.some((key) => key === this.stuck)) throw new Error('not permitted');
    this.deleted.push(...keys);
  };
}

interface Rig {
  readonly world: VirtualWorld;
  readonly engine: Engine;
  readonly roster: Roster;
  readonly place: Place;
  readonly warnings: string[];
  /** A task with as many artifacts; answers their blobs. */
  readonly leave: (count: number, size?: number) => Promise<{ task: number; ids: string[]; blobs: string[] }>;
}

async function rig(t: TestContext): Promise<Rig> {
  const world = new VirtualWorld();
  const store = await openSqlite({ file: 'memory:', world });
  const place = new Place();
  const warnings: string[] = [];
  const log: Log = { ...SILENT, warn: (message) => void warnings.push(message) };
  const engine = new Engine({ store, world, artifactRetentionMs: HOUR, removeBlobs: place.remove });
  const roster = new Roster({ engine, holder: 'a', log });
  t.after(async () => {
    await roster.stop();
    await store.close();
  });
  const worker = await engine.workers.register({ name: 'w', incarnation: 'i', slots: 9, tags: [] });
  const leave = async (count: number, size = 1): Promise<{ task: number; ids: string[]; blobs: string[] }> => {
    const { task } = await engine.push({ queue: 'mail', handler: 'send' });
    const [grant] = await engine.claim({ worker, max: 1, task, leaseMs: 24 * HOUR });
    assert.ok(grant);
    const ids: string[] = [];
    const blobs: string[] = [];
    for (let n = 0; n < count; n++) {
      const request = { name: `${n}`, type: 'text/plain', size, sha256: 'a'.repeat(64) };
      const { id, blob } = await engine.artifacts.begin(grant, request, { own: true });
      await engine.artifacts.end(grant, id);
      ids.push(id);
      blobs.push(blob);
    }
    await engine.complete(grant, 1, { artifacts: ids });
    return { task, ids, blobs };
  };
  return { world, engine, roster, place, warnings, leave };
}

/** Whatever the sweep has still to answer. */
async function waiting({ engine }: Rig): Promise<number> {
  const duty = await engine.store.dutyTake({ name: 'looker', holder: 'x', ttlMs: 1 });
  assert.ok(duty);
  const { gone } = await engine.store.artifactSweep({ duty, retentionMs: 1e12, pendingMs: 1e12, limit: 1000 });
  await engine.store.dutyRelease({ duty });
  return gone.length;
}

test('artifacts and their bytes go when the retention after the end of their task is over', async (t) => {
  const all = await rig(t);
  const { world, engine, roster, place, leave } = all;
  const { blobs } = await leave(3);
  await roster.tick('artifacts');
  assert.deepEqual(place.deleted, []);
  await world.advance(HOUR + 1);
  const young = await leave(1);
  assert.equal(await roster.tick('artifacts'), 6);
  assert.deepEqual(new Set(place.deleted), new Set(blobs));
  assert.deepEqual(
    (await engine.artifacts.list()).map(({ id }) => id),
    young.ids,
  );
  assert.deepEqual(await engine.artifacts.usage(), { entries: 1, bytes: 1 });
  assert.equal(await waiting(all), 0);
});

test('a place that is out of reach is asked less and less often, and nothing is forgotten', async (t) => {
  const all = await rig(t);
  const { world, engine, roster, place, warnings, leave } = all;
  const { ids, blobs } = await leave(2);
  await engine.artifacts.remove(ids);
  place.down = true;
  roster.keeper('artifacts').start();
  await world.advance(6000);
  assert.equal(place.calls(), 1);
  assert.match(warnings[0] ?? '', /bytes of artifacts could not be deleted/);
  await world.advance(60_000);
  // Five seconds after the first failure, ten after the second, and so on.
  assert.equal(place.calls(), 4);
  assert.deepEqual([place.deleted, await waiting(all)], [[], 2]);
  await world.advance(2 * HOUR);
  assert.ok(place.calls() < 30, `${place.calls()} calls in two hours`);
  assert.equal(warnings.length, place.calls());
  place.down = false;
  await world.advance(HOUR);
  assert.deepEqual(new Set(place.deleted), new Set(blobs));
  assert.equal(await waiting(all), 0);
});

test('bytes that cannot be deleted keep no others from it', async (t) => {
  const all = await rig(t);
  const { world, engine, roster, place, leave } = all;
  const { ids, blobs } = await leave(450);
  await engine.artifacts.remove(ids);
  [place.stuck] = blobs;
  roster.keeper('artifacts').start();
  await world.advance(3 * HOUR);
  assert.deepEqual(new Set(place.deleted), new Set(blobs.slice(1)));
  assert.equal(await waiting(all), 1);
});

test('a process that dies between the deletion and its note deletes once more', async (t) => {
  const all = await rig(t);
  const { engine, roster, place, leave } = all;
  const { ids, blobs } = await leave(1);
  await engine.artifacts.remove(ids);
  const artifactSwept = engine.store.artifactSwept.bind(engine.store);
  engine.store.artifactSwept = () => Promise.reject(new Error('the process has ended'));
  await assert.rejects(roster.tick('artifacts'), /has ended/);
  assert.deepEqual([place.deleted, await waiting(all)], [blobs, 1]);
  engine.store.artifactSwept = artifactSwept;
  assert.equal(await roster.tick('artifacts'), 1);
  assert.deepEqual([place.deleted, await waiting(all)], [[...blobs, ...blobs], 0]);
});

test('many artifacts go in steps, with time between them', async (t) => {
  const all = await rig(t);
  const { world, roster, place, leave } = all;
  const { blobs } = await leave(450);
  await world.advance(HOUR + 1);
  roster.keeper('artifacts').start();
  await world.advance(20_000);
  assert.equal(place.deleted.length, blobs.length);
  assert.ok(place.calls() >= 3);
});

test('a process that reaches no place for bytes leaves the duty to others', async (t) => {
  const { engine } = await rig(t);
  const { store, world } = engine;
  const roster = new Roster({ engine: new Engine({ store, world }), holder: 'b' });
  assert.ok(!roster.names().includes('artifacts'));
  assert.throws(() => roster.keeper('artifacts'), /no duty artifacts/);
});
