/** A node and a worker are replaced by those of this tree while work is under way: nothing is lost, and nothing is done twice. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { SCHEMA_VERSION } from '../../src/store/sqlite/upkeep/migrate.ts';
import { QUEUE } from './handlers.ts';
import { LINKS, Skew } from './scene.ts';

const timeout = 120_000;
/** Taken back soon after its worker was killed. */
const SHORT_LEASE_MS = 3000;

/** Work in every state that outlives a restart. */
class Work {
  readonly #skew: Skew;
  /** Its end comes while the node is away. */
  away = '';
  /** Its end comes after the restart. */
  later = '';
  parent = '';
  signal = '';
  approval = '';
  scheduled = '';

  constructor(skew: Skew) {
    this.#skew = skew;
  }

  async begin(): Promise<void> {
    const skew = this.#skew;
    this.away = await skew.push('held', { key: 'away' });
    this.later = await skew.push('held', { key: 'later' }, { unique: 'later' });
    this.parent = await skew.push('parent', { key: 'child' });
    this.signal = await skew.push('signal', { key: 's' });
    this.approval = await skew.push('approval', {});
    this.scheduled = await skew.push('echo', 'scheduled', { runAt: Date.now() + 3_600_000 });
    for (const key of ['away', 'later', 'child']) await skew.traced(`held ${key} waits`);
    for (const id of [this.parent, this.signal, this.approval]) await skew.becomes(id, 'waiting');
  }

  /** Everything goes on where it was. */
  async end(): Promise<void> {
    const skew = this.#skew;
    assert.equal(await skew.push('held', { key: 'later' }, { unique: 'later' }), this.later, 'its unique key is known');
    for (const key of ['away', 'later', 'child']) skew.letGo(key);
    assert.deepEqual([await skew.result(this.away), await skew.result(this.later)], ['away', 'later']);
    assert.deepEqual(
      (await skew.result(this.parent)).results.map(({ result }: { readonly result: unknown }) => result),
      [{ from: 'parent' }, 'child'],
    );
    await skew.node.call('POST', '/signals', { channel: 'signal:s', body: 1 });
    assert.deepEqual(await skew.result(this.signal), { outcome: 'woken', value: 1 });
    await skew.node.call('POST', `/approvals/${this.approval}`, { action: 'reject' });
    assert.equal((await skew.result(this.approval)).value.action, 'reject');
    assert.equal((await skew.node.task(this.scheduled)).state, 'scheduled');
    assert.equal(await skew.result(await skew.push('echo', 'fresh')), 'fresh');
  }

  /** Six of its own, the two children of the parent and the fresh one; each did its work once. */
  async check(): Promise<void> {
    const skew = this.#skew;
    const { tasks } = await skew.node.call('GET', `/tasks?queue=${QUEUE}&limit=100`);
    const states = tasks.map(({ state }: { readonly state: string }) => state).toSorted();
    assert.deepEqual(states, [...Array.from({ length: 8 }, () => 'completed'), 'scheduled']);
    assert.deepEqual(skew.traces().toSorted(), [
      'held away began',
      'held away ended',
      'held away waits',
      'held child began',
      'held child ended',
      'held child waits',
      'held later began',
      'held later ended',
      'held later waits',
      'signal s waits',
    ]);
    for (const [id, key] of [
      [this.away, 'away'],
      [this.later, 'later'],
    ] as const) {
      assert.deepEqual(await skew.node.lines(id), [`before ${key}`, `after ${key}`]);
      assert.equal((await skew.node.task(id)).attempt, 1, `${key} kept its lease`);
    }
  }
}

function schemaOf({ store }: Skew): number {
  using db = new DatabaseSync(store, { readOnly: true });
  return Number(db.prepare("SELECT value FROM meta WHERE key = 'schema'").get()?.['value']);
}

for (const [link, http] of Object.entries(LINKS)) {
  // A worker of 200b8487 over plain HTTP ends with its session, which nobody can carry over: a reader of the store could forge it (ADR 36). What
  // it had finished is in its spool for the next start. Freeze a later commit, and this holds for both links.
  for (const signal of http ? [] : (['SIGTERM', 'SIGKILL'] as const)) {
    test(`${link}: an old worker keeps its leases when ${signal} ends the old node and a new one takes its file`, {
      timeout,
    }, async (t) => {
      const skew = new Skew(t);
      await skew.startNode('old');
      const before = schemaOf(skew);
      await skew.startWorker('old', { name: 'box', secret: await skew.node.enrol('box'), http });
      const work = new Work(skew);
      await work.begin();
      await skew.endNode(signal);
      skew.letGo('away');
      await skew.owed('away');
      await skew.startNode('new');
      assert.ok(before <= SCHEMA_VERSION);
      assert.equal(schemaOf(skew), SCHEMA_VERSION, 'the new node has migrated the file');
      await work.end();
      await work.check();
      const { workers } = await skew.node.call('GET', '/workers');
      assert.equal(workers.length, 1, 'the worker is the same to the new node');
      await skew.stop();
      assert.deepEqual(skew.warnings(skew.nodes), []);
    });
  }

  test(`${link}: a new worker goes on with what an old one of its name has left parked`, { timeout }, async (t) => {
    const skew = new Skew(t);
    await skew.startNode('new');
    const given = { name: 'box', secret: await skew.node.enrol('box'), http };
    const old = await skew.startWorker('old', given);
    const work = new Work(skew);
    await work.begin();
    old.child.kill('SIGTERM');
    for (const key of ['away', 'later', 'child']) skew.letGo(key);
    assert.deepEqual(await old.ended, { code: 0, signal: null });
    await skew.startWorker('new', given);
    await work.end();
    await work.check();
    await skew.stop();
    assert.deepEqual(skew.warnings(skew.nodes), []);
  });

  test(`${link}: a new worker delivers what an old one could not send before it was killed`, { timeout }, async (t) => {
    const skew = new Skew(t);
    await skew.startNode('old');
    const given = { name: 'box', secret: await skew.node.enrol('box'), http };
    const old = await skew.startWorker('old', given);
    const id = await skew.push('held', { key: 'away' });
    await skew.traced('held away waits');
    await skew.endNode('SIGKILL');
    skew.letGo('away');
    await skew.owed('away');
    old.child.kill('SIGKILL');
    await old.ended;
    await skew.startNode('new');
    await skew.startWorker('new', given);
    assert.equal(await skew.result(id), 'away');
    assert.equal((await skew.node.task(id)).attempt, 1);
    assert.deepEqual(skew.traces(), ['held away began', 'held away waits', 'held away ended']);
    assert.deepEqual(await skew.node.lines(id), ['before away', 'after away']);
    await skew.stop();
  });

  test(`${link}: a new worker repeats what a killed old one ran, and none of its stored steps`, {
    timeout,
  }, async (t) => {
    const skew = new Skew(t, { leaseMs: SHORT_LEASE_MS });
    await skew.startNode('new');
    const given = { name: 'box', secret: await skew.node.enrol('box'), http };
    const old = await skew.startWorker('old', given);
    const id = await skew.push('held', { key: 'later' });
    await skew.traced('held later waits');
    old.child.kill('SIGKILL');
    await old.ended;
    await skew.startWorker('new', given);
    skew.letGo('later');
    assert.equal(await skew.result(id), 'later');
    assert.equal((await skew.node.task(id)).attempt, 2);
    assert.deepEqual(skew.traces(), ['held later began', 'held later waits', 'held later waits', 'held later ended']);
    await skew.stop();
  });
}
