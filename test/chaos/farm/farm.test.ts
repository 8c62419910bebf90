import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type App, open } from '../../../src/app/open.ts';
import { full, scaled } from '../../support/scale.ts';
import { type Child, Nursery, scratch } from '../children.ts';
import { until } from '../survivors.ts';
import { describeFarm, type FarmOptions, runFarm } from './farm.ts';
import { type Note, now, type Parted, readNotes, type Start } from './farm-notes.ts';
import { sleeper } from './farm-tasks.ts';

const LEASE_MS = 600;
/** The same each time; `LEASEHOLD_SEED=$RANDOM` looks for something new. */
const SEED = Number.parseInt(process.env['LEASEHOLD_SEED'] ?? '', 10) || 1;

// At once, and not with the results: a run that hangs has a seed too.
console.log(`LEASEHOLD_SEED=${SEED}`);

type Farmed = Pick<FarmOptions, 'store' | 'kills' | 'tasks' | 'duties'>;

async function farm(t: TestContext, options: Farmed): Promise<void> {
  const report = await runFarm({
    ...options,
    seed: SEED,
    leaseMs: LEASE_MS,
    gapMs: scaled(150, 350),
    patienceMs: 100_000,
  });
  t.diagnostic(describeFarm(report));
  assert.deepEqual(report.violations, []);
  assert.deepEqual(report.orphans, []);
  assert.equal(report.acknowledged, options.tasks, 'every push was acknowledged');
  // A run of fewer strikes meets most of them, but not each time: the long one is the judge.
  if (options.kills < 300) return;
  assert.ok(report.looks.full > 0, 'no limit was ever full');
  for (const [what, count] of Object.entries(report.gates)) {
    // On a loaded host no long task of the Postgres farm had started when its client cancelled it (seen twice).
    if (options.store === 'postgres' && what === 'cancelledWhileRunning') continue;
    assert.ok(count > 0, `the run never met: ${what}`);
  }
}

/** Below some 165 tasks a schedule has more than it is asked for: the least number of each kind. */
/** Of both stores: on a disk that stands still now and then one of them takes a minute. */
const FARM = { timeout: full ? 3_600_000 : 900_000 };

test(
  'nothing is lost, invented, run twice or recorded late when six workers are killed, frozen and drained at random',
  FARM,
  async (t) => {
    await t.test('sqlite', (own) =>
      farm(own, { store: 'sqlite', kills: scaled(6, 300), tasks: scaled(180, 10_000), duties: 'keeper' }),
    );
    await t.test('postgres', (own) =>
      farm(own, { store: 'postgres', kills: scaled(4, 300), tasks: scaled(180, 10_000), duties: 'keeper' }),
    );
  },
);

test('the same holds when those who are killed do the housekeeping as well', FARM, async (t) => {
  await t.test('sqlite', (own) =>
    farm(own, { store: 'sqlite', kills: scaled(4, 60), tasks: scaled(180, 2000), duties: 'workers' }),
  );
  await t.test('postgres', (own) =>
    farm(own, { store: 'postgres', kills: scaled(3, 60), tasks: scaled(180, 2000), duties: 'workers' }),
  );
});

const QUIET_KILLS = 5;
/** The reaper wakes at the expiry; the second is for the kill, the reap and the claim. */
const AGAIN_MS = LEASE_MS + 1000;

interface Quiet {
  readonly app: App;
  readonly folder: string;
  /** Two at any time. */
  readonly workers: Child[];
  readonly start: () => Child;
}

/** One process that keeps the duties, two workers, and nothing to do. */
async function quiet(t: TestContext): Promise<Quiet> {
  const folder = scratch(t, 'farm');
  const url = `sqlite:${join(folder, 'quiet.db')}`;
  const environment = {
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(folder, 'compiled'),
    FARM_FOLDER: folder,
  };
  const nursery = new Nursery(t, { environment });
  await nursery
    .start(new URL('./farm-keeper-child.ts', import.meta.url), [url, folder, String(LEASE_MS)])
    .hear('keeping');
  const args = [url, folder, 'inline', 'none', String(LEASE_MS)];
  const start = (): Child => nursery.start(new URL('./farm-worker-child.ts', import.meta.url), args);
  const app = await open(url, { duties: false });
  t.after(() => app.close());
  return { app, folder, workers: [start(), start()], start };
}

/** When and where an attempt was started, once it was. */
async function startOf({ folder }: Quiet, id: string, attempt: number): Promise<Start> {
  const find = (): Start | undefined =>
    readNotes(folder).find(
      (note): note is Start => note.note === 'start' && note.id === id && note.attempt === attempt,
    );
  assert.ok(await until(() => find() !== undefined, 30_000), `attempt ${attempt} starts`);
  return find() as Start;
}

test('what a killed worker was running runs again within its lease and a second', async (t) => {
  const it = await quiet(t);
  // Other work on the host can spoil a series, so there is a second one.
  for (const last of [false, true]) {
    const took: number[] = [];
    for (let kill = 0; kill < QUIET_KILLS; kill++) took.push(await killOne(it));
    t.diagnostic(
      `${QUIET_KILLS} kills, run again after ${took.map(Math.round)} ms; the lease holds for ${LEASE_MS} ms`,
    );
    if (Math.max(...took) <= AGAIN_MS) return;
    assert.ok(!last, `it took ${took.map(Math.round)} ms, not ${AGAIN_MS}`);
  }
});

/** Kills the worker that runs a task and answers how long it took until the other one had started it. */
async function killOne(it: Quiet): Promise<number> {
  const { app, workers } = it;
  await Promise.all(workers.map((worker) => worker.hear('working')));
  const { id } = await app.push(sleeper, { key: 'quiet', ms: 60_000 });
  const { pid } = await startOf(it, id, 1);
  const place = workers.findIndex((worker) => worker.process.pid === pid);
  const killedAt = now();
  await (workers[place] as Child).kill();
  workers[place] = it.start();
  const again = await startOf(it, id, 2);
  await app.cancel(id);
  return again.at - killedAt;
}

test('a worker that wakes with a result while the next attempt runs is refused, and the next result counts', async (t) => {
  const it = await quiet(t);
  const rounds = scaled(2, 20);
  let refused = 0;
  for (let round = 0; round < rounds; round++) {
    await Promise.all(it.workers.map((worker) => worker.hear('working')));
    // The second attempt takes 800 ms more.
    const { id, task } = await it.app.push(sleeper, { key: 'late', ms: 300 });
    const first = await startOf(it, id, 1);
    process.kill(first.pid, 'SIGSTOP');
    await startOf(it, id, 2);
    process.kill(first.pid, 'SIGCONT');
    const { state, attempt, result } = await it.app.engine.finished(task, AbortSignal.timeout(30_000));
    assert.deepEqual([state, attempt, result], ['completed', 2, '{"key":"late","attempt":2}']);
    const parted = (): readonly Parted[] =>
      readNotes(it.folder).filter((note): note is Parted => note.note === 'parted' && note.id === id);
    assert.ok(await until(() => parted().length === 2, 30_000), 'both workers have parted with it');
    assert.deepEqual(
      new Map(parted().map((one) => [one.attempt, one.outcome])),
      new Map([
        [1, 'lost'],
        [2, 'completed'],
      ]),
    );
    const came = (note: Note): boolean =>
      note.note === 'end' && note.id === id && note.attempt === 1 && note.how === 'done';
    if (readNotes(it.folder).some(came)) refused++;
  }
  t.diagnostic(`${refused} late results in ${rounds} freezes`);
  if (full) assert.ok(refused > 0, 'no handler came to its end after the freeze');
});
