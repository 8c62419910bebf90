import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { isEngineError } from '../../../core/errors.ts';
import type { Lease } from '../../../core/task/lease.ts';
import { DAY, HOUR, MINUTE, refusal, Scene } from '../../conformance/kit/scene.ts';
import { checkBooks } from '../../conformance/kit/snapshot.ts';
import { tempFolder } from '../../conformance/kit/temp-folder.ts';
import { hashOf, token } from '../../conformance/kit/token-scene.ts';
import { parkAll, rememberAll } from '../../conformance/kit/turning.ts';
import { VirtualWorld } from '../../conformance/kit/virtual-world.ts';
import { openSqlite } from '../open.ts';
import { backupSqlite } from './backup.ts';
import { type Restored, restoreSqlite } from './restore.ts';

const folder = tempFolder('restore');
let made = 0;
const freshName = (): string => join(folder, `${++made}.db`);

/** A store, its world and its backups, to lose the time after a backup. */
class Trial {
  readonly world = new VirtualWorld();
  readonly file = freshName();
  scene!: Scene;

  async open(file = this.file): Promise<Scene> {
    const store = await openSqlite({ file, world: this.world, housekeeping: false });
    const pass = (ms: number): Promise<void> => this.world.advance(ms);
    this.scene = new Scene(store, this.world, { reopen: undefined, caller: undefined, pass });
    this.scene.forgets = true;
    return this.scene;
  }

  async backup(): Promise<string> {
    const to = freshName();
    await backupSqlite({ file: this.file, to, force: false });
    return to;
  }

  /** As the command does it, after all processes have closed the store. */
  async restore(from: string, { force = true, keepTokens = false } = {}): Promise<Restored> {
    return restoreSqlite({ file: this.file, from, force, keepTokens, now: Math.floor(this.world.clock.wall()) });
  }

  /** The same, and opens it again. */
  async goBack(from: string): Promise<Scene> {
    await this.scene.close();
    await this.restore(from);
    return this.open();
  }
}

/** Every verb of the holder of a lease is refused, and changes nothing. */
async function assertLost(scene: Scene, lease: Lease, what: string): Promise<void> {
  const { task, attempt } = lease;
  await scene.unchanged(async () => {
    for (const to of ['completed', 'failed', 'cancelled'] as const)
      assert.equal(await scene.settle(lease, to), 'lost', what);
    assert.equal(await scene.giveBack(lease), 'lost', what);
    const [renewed] = await scene.store.leaseRenew({ items: [{ task, attempt, ttlMs: HOUR }] });
    assert.deepEqual(renewed, { held: false }, what);
    const line = { seq: 1, at: 0, stream: 'log', text: 'late' } as const;
    await scene.store.logAppend({ items: [{ task, attempt, entries: [line] }] });
  });
}

test('no lease that was granted after the backup fits a task of the restored store', async () => {
  const trial = new Trial();
  const before = await trial.open();
  const [running, finished] = [await before.running(), await before.running()];
  assert.equal(await before.settle(finished, 'completed'), 'done');
  const ready = await before.push();
  const backup = await trial.backup();

  // This time will be lost.
  const late: [string, Lease][] = [['it ran at the time of the backup', running]];
  const duty = await before.duty();
  await trial.world.advance(HOUR);
  await before.reap(duty);
  await before.store.taskRevive({ tasks: [finished.task] });
  late.push(['it ran at the time of the backup, and again after it', await before.claimOne({ task: running.task })]);
  late.push(['it was claimed for the first time after the backup', await before.claimOne({ task: ready })]);
  late.push(['it was finished, and run again after the backup', await before.claimOne({ task: finished.task })]);
  for (let i = 0; i < 3; i++) late.push(['it was pushed after the backup', await before.running()]);

  const after = await trial.goBack(backup);
  for (const [what, lease] of late) await assertLost(after, lease, what);

  // Everything that was granted then is granted again, and the old leases match none of it.
  await after.reap(await after.duty());
  await after.store.taskRevive({ tasks: [finished.task] });
  for (let i = 0; i < 3; i++) await after.push();
  const grants = await after.claim({ max: 20 });
  assert.equal(grants.length, 6);
  for (const [what, lease] of late) {
    const same = grants.find(({ task }) => task === lease.task);
    assert.ok(same === undefined || same.attempt > lease.attempt, `a fence only rises: ${what}`);
    await assertLost(after, lease, what);
  }
  for (const grant of grants) assert.equal(await after.settle(grant, 'completed'), 'done');
  await after.checkBooks();
  await after.close();
});

test('the same backup may be restored again and again, and every time before it stays behind', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  await scene.push();
  const backup = await trial.backup();
  const late: Lease[] = [];
  const ids = new Set<number>();
  for (let round = 0; round < 4; round++) {
    const now = await trial.goBack(backup);
    for (let i = 0; i < 3; i++) ids.add(await now.push());
    for (const lease of late) await assertLost(now, lease, `of a time before round ${round}`);
    late.push(...(await now.claim({ max: 9 })));
    for (const lease of late.slice(0, -4)) await assertLost(now, lease, `of a time before round ${round}`);
    // Also when the replaced file cannot be read.
    await now.close();
    if (round % 2 === 1) renameSync(trial.file, freshName());
    await trial.world.advance(1);
    await trial.restore(backup);
    await trial.open();
  }
  assert.equal(ids.size, 12, 'no id was given twice');
  await trial.scene.close();
});

test('a clock that was set back does not bring numbers again, where the old store can be read', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  await scene.push();
  const backup = await trial.backup();
  trial.world.jump(30 * DAY);
  const wrong = await trial.goBack(backup);
  const late = [...(await wrong.claim()), await wrong.running()];
  trial.world.jump(-30 * DAY);
  const after = await trial.goBack(backup);
  for (let i = 0; i < 3; i++) await after.push();
  const grants = await after.claim({ max: 9 });
  for (const lease of late) {
    assert.ok(!grants.some(({ task, attempt }) => task === lease.task && attempt <= lease.attempt));
    await assertLost(after, lease, 'granted while the clock was ahead');
  }
  await after.close();
});

test('a restored store is what it was, and only its numbers went on', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  const line = { seq: 1, at: 5, stream: 'log', text: 'said' } as const;
  const first = await scene.running();
  await scene.store.logAppend({ items: [{ ...first, entries: [line] }] });
  await scene.giveBack(first, { error: '"no"' });
  const second = await scene.claimOne();
  await scene.settle(second, 'completed', { result: '"yes"' });
  const waiting = { ...(await scene.running()), key: 'k' };
  await rememberAll(scene.store, [{ ...waiting, value: '1' }]);
  await parkAll(scene.store, [{ ...waiting, channel: 'c', timeoutMs: DAY }]);
  await scene.push({ unique: { key: 'k', hash: 1, windowMs: DAY }, payload: JSON.stringify('x'.repeat(20_000)) });
  await scene.push({ delayMs: DAY });
  const before = await scene.look();
  const backup = await trial.backup();
  await trial.world.advance(MINUTE);
  await scene.close();
  const { by } = await trial.restore(backup);
  const after = await (await trial.open()).look();

  const moved = <T extends { readonly attempt: number }>(one: T): T => ({ ...one, attempt: one.attempt + by });
  assert.deepEqual(
    after.tasks,
    before.tasks.map((task) => ({
      ...moved(task),
      attempts: task.attempts.map(moved),
      log: task.log.map(moved),
      journal: task.journal.map(moved),
    })),
  );
  assert.deepEqual([after.queues, after.workers], [before.queues, before.workers]);
  const story = ({ task, change, state, at }: (typeof before.events)[number]): unknown => [task, change, state, at];
  assert.deepEqual(after.events.map(story), before.events.map(story));
  checkBooks(after, { forgets: true });
  const again = await trial.scene.pushAnswer({ unique: { key: 'k', hash: 1, windowMs: DAY } });
  assert.ok(again.ok && !again.fresh, 'a unique key holds');
  await trial.scene.close();
});

test('every reader of the feed gets a reset, wherever it stood and however far the store went on since', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  await scene.pushMany(5);
  const backup = await trial.backup();
  await scene.pushMany(20);
  const after = await trial.goBack(backup);
  for (const more of [0, 50]) {
    if (more > 0) await after.pushMany(more);
    for (const stood of [0, 3, 5, 6, 17, 25]) {
      const { reset } = await after.store.eventRead({ after: stood, limit: 10 });
      assert.ok(reset, `a reader at ${stood}, after ${more} more`);
    }
  }
  const { last, events } = await after.store.eventRead({ after: 25, limit: 100 });
  assert.equal(events.length, 55);
  assert.equal((await after.store.eventRead({ after: last, limit: 10 })).reset, false, 'once');
  await after.close();
});

test('what ran at the time of the backup is taken back when its lease has passed, and runs again', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  const grant = await scene.running();
  const backup = await trial.backup();
  const after = await trial.goBack(backup);
  const duty = await after.duty();
  assert.equal(await after.reap(duty), 0, 'not before');
  await trial.world.advance(MINUTE);
  assert.equal(await after.reap(duty), 1);
  const again = await after.claimOne();
  assert.deepEqual([again.task, again.tries], [grant.task, 2]);
  await after.close();
});

test('what waited at the time of the backup is woken by what it waits for', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  const child = await scene.running({ queue: 'children' });
  const wishes = [{ channel: 'c' }, { children: [child.task] }, { timeoutMs: MINUTE }] as const;
  const tasks: number[] = [];
  for (const wish of wishes) {
    const { task, attempt } = await scene.running();
    await parkAll(scene.store, [{ task, attempt, key: 'k', ...wish }]);
    tasks.push(task);
  }
  const after = await trial.goBack(await trial.backup());
  const states = async (): Promise<unknown> => Promise.all(tasks.map(async (task) => (await after.get(task)).state));
  await after.store.signalSend({ items: [{ channel: 'c', body: '1' }] });
  assert.deepEqual(await states(), ['ready', 'waiting', 'waiting']);
  await after.settle(await after.get(child.task), 'completed');
  assert.deepEqual(await states(), ['ready', 'ready', 'waiting']);
  await trial.world.advance(MINUTE);
  await after.store.taskStage({ duty: await after.duty(), limit: 10 });
  assert.deepEqual(await states(), ['ready', 'ready', 'ready']);
  await after.checkBooks();
  await after.close();
});

test('tasks that had to be started before now fail, and the others wait on', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  const late = await scene.pushMany(600, { waitTimeoutMs: MINUTE });
  const patient = await scene.push({ waitTimeoutMs: DAY });
  const backup = await trial.backup();
  await scene.close();
  await trial.world.advance(HOUR);
  const { expired } = await trial.restore(backup);
  const after = await trial.open();
  assert.equal(expired, 600);
  for (const task of late.slice(0, 3)) {
    const { state, reason } = await after.get(task);
    assert.deepEqual([state, reason], ['failed', 'timeout']);
  }
  assert.equal((await after.get(patient)).state, 'ready');
  await after.checkBooks();
  await after.close();
});

test('the row that keeps the place of the ids is seen by nobody, and is pruned in the end', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  await scene.push();
  const backup = await trial.backup();
  const after = await trial.goBack(backup);
  assert.equal((await after.look()).tasks.length, 1);
  const { tasks } = await backupSqlite({ file: trial.file, to: freshName(), force: false });
  assert.deepEqual([tasks.ready, tasks.cancelled], [1, 0]);
  const newest = await after.push();
  await trial.world.advance(8 * DAY);
  await after.prune(await after.duty('pruner'), 7 * DAY);
  const db = new DatabaseSync(trial.file, { readOnly: true });
  assert.deepEqual(
    db
      .prepare('SELECT id FROM task ORDER BY id')
      .all()
      .map(({ id }) => id),
    [1, newest],
  );
  db.close();
  assert.ok((await after.push()) > newest);
  await after.close();
});

test('workers and duties of the lost time cannot speak for those of the restored store', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  const register = (name: string): Promise<number> =>
    trial.scene.store.workerRegister({ name, incarnation: name, slots: 1, tags: [] });
  await register('first');
  await scene.store.dutyRelease({ duty: await scene.duty() });
  const backup = await trial.backup();
  const lateWorker = await register('late');
  const lateDuty = await scene.duty();
  const after = await trial.goBack(backup);
  const [worker, duty] = [await register('new'), await after.duty()];
  assert.ok(worker > lateWorker);
  await after.push();
  await after.claim({ holder: worker });
  assert.equal(await refusal(after.store.leaseReap({ duty: lateDuty, items: [] })), 'DUTY_LOST');
  assert.equal((await after.store.leaseReap({ duty, items: [] })).reaped, 0);
  await after.close();
});

test('a store that is there is replaced only with force, and never while somebody has it open', async () => {
  const trial = new Trial();
  const scene = await trial.open();
  await scene.push();
  const backup = await trial.backup();
  assert.equal(await refusal(trial.restore(backup, { force: false })), 'CONFLICT');
  await assert.rejects(trial.restore(backup), (error) => {
    assert.ok(isEngineError(error, 'STORE_BUSY'), String(error));
    assert.match(error.message, /a process has it open/);
    assert.match(error.hint ?? '', /Stop all nodes/);
    return true;
  });
  await scene.push();
  assert.equal((await scene.stats()).ready, 2, 'whoever had it open goes on');
  await scene.close();
  assert.equal(await refusal(trial.restore(backup, { force: false })), 'CONFLICT');
  await trial.restore(backup);
  assert.equal((await (await trial.open()).stats()).ready, 1);
  await trial.scene.close();
  const ours = readdirSync(folder).filter((name) => join(folder, name).startsWith(trial.file));
  assert.deepEqual(
    ours.map((name) => join(folder, name)),
    [trial.file],
  );
});

test('a reader of the old store counts as somebody, and so does the log of a store whose file is gone', async () => {
  const trial = new Trial();
  await (await trial.open()).push();
  const backup = await trial.backup();
  const reader = new DatabaseSync(trial.file, { readOnly: true });
  reader.prepare('SELECT count(*) FROM task').get();
  await trial.scene.close();
  assert.equal(await refusal(trial.restore(backup)), 'STORE_BUSY');
  reader.close();
  await trial.restore(backup);
  renameSync(trial.file, freshName());
  writeFileSync(`${trial.file}-wal`, 'of something that is gone');
  assert.equal(await refusal(trial.restore(backup, { force: false })), 'CONFLICT');
  await trial.restore(backup);
  assert.equal((await (await trial.open()).stats()).ready, 1);
  await trial.scene.close();
});

test('who opened the old file in the moment of the restore works on no file without a name', async () => {
  const trial = new Trial();
  await (await trial.open()).push();
  const backup = await trial.backup();
  await trial.scene.close();
  // SQLite opens a file at once, but takes its first lock at the first read.
  const late = new DatabaseSync(trial.file, { timeout: 0 });
  await trial.restore(backup);
  assert.throws(() => late.exec("CREATE TABLE x (y); INSERT INTO x VALUES ('lost')"), /not a database/);
  late.close();
  await (await trial.open()).close();
});

test('a bad backup is found out before the store is touched', async () => {
  const trial = new Trial();
  await (await trial.open()).pushMany(2000);
  const backup = await trial.backup();
  await trial.scene.close();
  const before = readFileSync(trial.file);
  const bytes = readFileSync(backup);
  const [hurt, text, newer] = [freshName(), freshName(), freshName()];
  writeFileSync(hurt, bytes.fill(0xa5, bytes.length - 40_000, bytes.length - 20_000));
  writeFileSync(text, 'no database at all, but long enough to be one '.repeat(100));
  writeFileSync(newer, readFileSync(trial.file));
  const db = new DatabaseSync(newer);
  db.exec("UPDATE meta SET value = '99'; PRAGMA journal_mode = DELETE");
  db.close();
  const cases = {
    [hurt]: 'STORE_CORRUPT',
    [text]: 'STORE_CORRUPT',
    [newer]: 'SCHEMA_TOO_NEW',
    [freshName()]: 'NOT_FOUND',
  };
  for (const [from, code] of Object.entries(cases)) assert.equal(await refusal(trial.restore(from)), code, from);
  assert.equal(await refusal(trial.restore(trial.file)), 'INVALID_INPUT', 'the store itself');
  assert.equal(await refusal(trial.restore(folder)), 'INVALID_INPUT', 'a folder');
  const below = { file: join(trial.file, 'below.db'), from: backup, force: false, now: 0 };
  assert.equal(await refusal(restoreSqlite(below)), 'STORE_UNAVAILABLE', 'a place that cannot be made');
  assert.ok(before.equals(readFileSync(trial.file)));
});

test('a store that is too damaged to be locked has to be moved away first', async () => {
  const trial = new Trial();
  await (await trial.open()).push();
  const backup = await trial.backup();
  await trial.scene.close();
  writeFileSync(trial.file, 'nothing that SQLite could read '.repeat(300));
  await assert.rejects(trial.restore(backup), (error) => {
    assert.ok(isEngineError(error, 'CONFLICT'), String(error));
    assert.match(error.hint ?? '', /^Stop everything that uses it, move it away \(mv /);
    return true;
  });
  renameSync(trial.file, freshName());
  await trial.restore(backup, { force: false });
  await (await trial.open()).close();
});

test('a backup of the first schema is restored as it is, and brought up to date when it is opened', async () => {
  const trial = new Trial();
  const from = freshName();
  const db = new DatabaseSync(from);
  db.exec(readFileSync(new URL('../migrations/001-kernel.sql', import.meta.url), 'utf8'));
  db.exec(`CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('schema', '1'), ('compatible_from', '1');
    INSERT INTO queue (name) VALUES ('mail');
    INSERT INTO lane (queue, handler, hash, used_at) VALUES (1, 'send', 'x', 0);
    INSERT INTO qstat (queue, ready) VALUES (1, 1);
    INSERT INTO spec (hash, body, used_at) VALUES ('x', '{}', 0);
    INSERT INTO task (lane, spec, state, prio, max_tries, created_at, payload) VALUES (1, 1, 0, 0, 3, 5, '1')`);
  db.close();
  const { schema } = await trial.restore(from, { force: false });
  assert.equal(schema, 1);
  const scene = await trial.open();
  const [answer] = await scene.store.taskClaim({
    claims: [{ holder: await scene.worker(), ttlMs: 10, max: 9, lanes: [{ lane: 1, max: 9 }] }],
  });
  assert.deepEqual(
    answer?.grants.map(({ task }) => task),
    [1],
  );
  await scene.close();
});

test('a restore that is stopped leaves the store and nothing else', async () => {
  const trial = new Trial();
  await (await trial.open()).pushMany(3000);
  const backup = await trial.backup();
  await trial.scene.close();
  const { ino } = statSync(trial.file);
  const stop = new AbortController();
  const reason = new Error('enough');
  const { signal } = stop;
  const wishes = { file: trial.file, from: backup, force: true, now: trial.world.clock.wall(), signal };
  await assert.rejects(restoreSqlite({ ...wishes, onCopied: () => stop.abort(reason) }), (error) => error === reason);
  assert.equal(statSync(trial.file).ino, ino);
  assert.ok(!existsSync(`${trial.file}.partial-${process.pid}`));
});

/** Of the tokens of this trial those that let somebody in. */
async function comeIn(scene: Scene, ...names: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(names.map((name) => scene.store.tokenFind({ hash: hashOf(name) })));
  return names.filter((_, i) => found[i] !== undefined);
}

const make = ({ store }: Scene, text: string, kind: 'bearer' | 'secret' | 'code' = 'bearer') =>
  store.tokenAdd({ token: token(text, { kind, name: text, role: kind === 'bearer' ? 'operator' : 'worker' }) });

const browse = ({ store }: Scene, text: string, id: number) =>
  store.browserSessionAdd({ hash: hashOf(text), began: { token: id }, ttlMs: HOUR, most: 9 });

test('what was revoked since the backup does not come back, and sessions of browsers have ended', async () => {
  const trial = new Trial();
  const before = await trial.open();
  const good = await make(before, 'good');
  const leaked = await make(before, 'leaked');
  const worker = await make(before, 'worker', 'secret');
  await make(before, 'code', 'code');
  const rotated = await make(before, 'rotated');
  await browse(before, 'session', good.id);
  const backup = await trial.backup();
  await before.store.tokenRevoke({ id: leaked.id });
  await before.store.tokenRevoke({ id: worker.id });
  await before.store.tokenExchange({ hash: hashOf('code'), token: token('enrolled', { name: 'code' }) });
  await before.store.tokenAdd({
    token: token('newer', { kind: 'bearer', name: 'rotated' }),
    replaces: { graceMs: MINUTE },
  });
  await before.close();
  const { ended, knewTokens } = await trial.restore(backup);
  assert.deepEqual(
    { ended, knewTokens },
    { ended: { sessions: 1, tokens: 1, secrets: 2, credentials: 0 }, knewTokens: true },
  );
  const after = await trial.open();
  assert.deepEqual(await comeIn(after, 'good', 'leaked', 'worker', 'code', 'rotated'), ['good', 'rotated']);
  assert.equal(await after.store.browserSessionFind({ hash: hashOf('session') }), undefined);
  await after.pass(MINUTE);
  assert.deepEqual(await comeIn(after, 'rotated'), [], 'it ends when it would have ended');
  const next = await make(after, 'next');
  assert.ok(next.id > rotated.id + 1_000_000, 'no number of a token that the backup does not know comes again');
  await after.close();
});

test('where no store says what is still good nothing is, and a wish keeps all', async () => {
  const trial = new Trial();
  const before = await trial.open();
  const { id } = await make(before, 'one');
  await browse(before, 'session', id);
  const backup = await trial.backup();
  await before.close();
  const [other, kept] = [new Trial(), new Trial()];
  const { ended, knewTokens } = await other.restore(backup, { force: false });
  assert.deepEqual(
    { ended, knewTokens },
    { ended: { sessions: 1, tokens: 1, secrets: 0, credentials: 0 }, knewTokens: false },
  );
  const bare = await other.open();
  assert.deepEqual(await comeIn(bare, 'one'), []);
  await bare.close();
  assert.equal((await kept.restore(backup, { force: false, keepTokens: true })).ended, undefined);
  const full = await kept.open();
  assert.deepEqual(await comeIn(full, 'one'), ['one']);
  assert.ok(await full.store.browserSessionFind({ hash: hashOf('session') }));
  await full.close();
});

test('the secret that nodes share stays that of the store which is replaced, if it is the same cluster', async () => {
  const trial = new Trial();
  const before = await trial.open();
  await before.store.secretPin({ fingerprint: 'leaked' });
  const backup = await trial.backup();
  await before.store.secretPin({ fingerprint: 'renewed', replace: true });
  const after = await trial.goBack(backup);
  assert.equal((await after.store.secretPin({}))?.fingerprint, 'renewed');
  await after.close();
  const other = new Trial();
  const there = await other.open();
  await there.store.secretPin({ fingerprint: 'foreign' });
  const restored = await other.goBack(backup);
  assert.equal((await restored.store.secretPin({}))?.fingerprint, 'leaked');
  await restored.close();
});

test('a worker that lost a credential since the backup does not have it again, and versions go on behind all that were given', async () => {
  const trial = new Trial();
  const { store } = await trial.open();
  const value = (version: number) => ({ version, sealed: `sealed ${version}`, kind: 'text' }) as const;
  await store.workerSet({ name: 'tagged', tags: ['gpu'] });
  await store.workerRegister({ name: 'stays', incarnation: 'stays', slots: 1, tags: [] });
  for (const name of ['db', 'gone']) {
    await store.credentialPut({ name, value: value(1), addWorkers: ['stays', 'revoked'], addTags: ['gpu'] });
    for (const worker of ['stays', 'revoked', 'tagged']) {
      const ack = { worker, credential: name, version: 1, status: 'stored' } as const;
      assert.equal(await store.credentialAck(ack), true);
    }
  }
  const backup = await trial.backup();
  await store.credentialPut({ name: 'db', value: value(2), removeWorkers: ['revoked'] });
  await store.credentialRemove({ name: 'gone' });
  const after = (await trial.goBack(backup)).store;
  const found = await after.credentialList();
  assert.deepEqual(
    found.map(({ name, version, workers, tags }) => [name, version, workers, tags]),
    [
      ['db', 1002, ['stays'], ['gpu']],
      ['gone', 1001, [], []],
    ],
  );
  const holdings = await after.credentialHoldings({});
  assert.deepEqual(
    holdings.map(({ worker, credential, status, wanted }) => [worker, credential, status, wanted]),
    [
      ['stays', 'db', 'wanted', 1002],
      ['tagged', 'db', 'wanted', 1002],
    ],
  );
  assert.deepEqual((await after.workerList())[0]?.tags, [], 'nobody carries a label before it has said what it holds');
  assert.deepEqual((await after.credentialValues({ names: ['db'] }))[0], {
    name: 'db',
    version: 1002,
    valueVersion: 1,
    sealed: 'sealed 1',
  });
  assert.deepEqual(await after.credentialReport(says('revoked', { db: 2, gone: 1 })), ['db', 'gone']);
  await trial.scene.close();
  const { ended } = await trial.restore(backup);
  assert.equal(ended?.credentials, 2, 'of each somebody is chosen no more');
});

function says(worker: string, holds: Readonly<Record<string, number>>) {
  return { worker, said: { level: 'file', holds: new Map(Object.entries(holds)), tells: false } } as const;
}
