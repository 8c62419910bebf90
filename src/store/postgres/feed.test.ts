import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { scaled } from '../../../test/support/scale.ts';
import { realWorld } from '../../app/world.ts';
import { isEngineError } from '../../core/errors.ts';
import { isTaskEvent, type TaskEvent } from '../../core/task/event.ts';
import { isLegal, STATES, type TaskState } from '../../core/task/task.ts';
import type { DutyTerm, Grant, NewTask } from '../store.ts';
import { numbers } from './arrays.ts';
import { openPostgres } from './open.ts';
import { statements } from './statements.ts';
import type { PostgresStore } from './store.ts';

const SCHEMA = 'feed';
const TEXTS = statements(`"${SCHEMA}"`);
const QUEUES = ['alpha', 'beta', 'gamma'] as const;
const WRITERS = 8;
const RUN_MS = scaled(3000, 40_000);
/** The longest that a transaction is held open. */
const HELD_MS = 60;
const TERM_MS = 150;
/** Backlog beyond which writers claim rather than push. */
const BACKLOG = 400;

interface Scene {
  readonly open: () => Promise<PostgresStore>;
  readonly client: () => Promise<pg.Client>;
  readonly random: (below: number) => number;
}

async function scene(t: TestContext): Promise<Scene> {
  const url = await freshDatabase('feed');
  const open = async (): Promise<PostgresStore> => {
    const store = await openPostgres({ url: `${url}&schema=${SCHEMA}&pool=4`, world: realWorld() });
    t.after(() => store.close());
    return store;
  };
  const client = async (): Promise<pg.Client> => {
    const one = new pg.Client({ connectionString: url });
    await one.connect();
    t.after(() => one.end());
    return one;
  };
  return { open, client, random: (below) => Math.floor(Math.random() * below) };
}

/** A writer saw one event before it wrote the other. The feed must have them in this order. */
interface Cause {
  readonly claimed: { readonly task: number; readonly attempt: number };
  readonly child: number;
}

/** One of eight writers. It pushes, claims and settles, directly or in transactions that stay open and may be rolled back. */
class Writer {
  readonly causes: Cause[] = [];
  readonly counts = { pushed: 0, claimed: 0, settled: 0, 'rolled back': 0, 'held open': 0 };
  readonly #store: PostgresStore;
  readonly #client: pg.Client;
  readonly #random: Scene['random'];
  readonly #worker: number;
  readonly #lanes: readonly number[];
  readonly #spec: number;

  private constructor(of: {
    readonly store: PostgresStore;
    readonly client: pg.Client;
    readonly random: Scene['random'];
    readonly worker: number;
    readonly lanes: readonly number[];
    readonly spec: number;
  }) {
    this.#store = of.store;
    this.#client = of.client;
    this.#random = of.random;
    this.#worker = of.worker;
    this.#lanes = of.lanes;
    this.#spec = of.spec;
  }

  static async open({ client, random }: Scene, store: PostgresStore, n: number): Promise<Writer> {
    const worker = await store.workerRegister({ name: `w${n}`, incarnation: `w${n}`, slots: 8, tags: [] });
    const lanes = await store.laneIntern({ lanes: QUEUES.map((queue) => ({ queue, handler: 'run' })) });
    const [spec] = await store.specIntern({ specs: ['{}'] });
    return new Writer({
      store,
      client: await client(),
      random,
      worker,
      lanes: lanes.map(({ id }) => id),
      spec: spec as number,
    });
  }

  async step(): Promise<void> {
    const backlog = (await this.#store.queueList()).reduce((sum, { stats }) => sum + stats.ready, 0);
    const steps = [
      () => this.#work(),
      () => this.#work(),
      () => this.#workInside(),
      () => this.#cancelAndRevive(),
      ...(backlog > BACKLOG ? [] : [() => this.#push(), () => this.#push(), () => this.#pushInside()]),
    ];
    await (steps[this.#random(steps.length)] as () => Promise<void>)();
  }

  async #push(): Promise<void> {
    const items = Array.from({ length: 1 + this.#random(10) }, () => this.#newTask());
    this.counts.pushed += (await this.#store.taskPush({ items })).length;
  }

  #newTask(): NewTask {
    const later = this.#random(6) === 0 ? { delayMs: 1 + this.#random(2000) } : {};
    const lane = this.#lanes[this.#random(this.#lanes.length)] as number;
    return { lane, spec: this.#spec, priority: this.#random(3), maxTries: 3, payload: '1', ...later };
  }

  async #pushInside(): Promise<void> {
    await this.#inTransaction(async () => {
      const items = Array.from({ length: 1 + this.#random(3) }, () => {
        const queue = QUEUES[this.#random(QUEUES.length)] as string;
        return { queue, handler: 'run', specBody: '{}', priority: 0, maxTries: 3, payload: '2' };
      });
      this.counts.pushed += (await this.#store.taskPushIn({ tx: this.#client, items })).length;
      await this.#hold();
    });
  }

  /** Claims, may push a task that follows from the claim, and settles, each in its own call. */
  async #work(): Promise<void> {
    const [answer] = await this.#store.taskClaim({
      claims: [{ holder: this.#worker, ttlMs: 60_000, max: 6, lanes: this.#lanes.map((lane) => ({ lane, max: 3 })) }],
    });
    for (const grant of answer?.grants ?? []) await this.#finish(grant);
  }

  async #finish({ task, attempt, tries, maxTries }: Grant): Promise<void> {
    this.counts.claimed++;
    if (this.#random(4) === 0) {
      const [child] = await this.#store.taskPush({ items: [this.#newTask()] });
      if (child?.ok) this.causes.push({ claimed: { task, attempt }, child: child.task });
    }
    const lease = { task, attempt };
    if (this.#random(5) === 0 && tries < maxTries) {
      const delayMs = this.#random(2) * 50;
      await this.#store.taskReturn({
        items: [{ ...lease, change: 'retried', delayMs, refund: false, bounced: false, error: '"no"' }],
      });
    } else await this.#store.taskSettle({ items: [{ ...lease, to: 'completed', reason: 'none', result: '1' }] });
    this.counts.settled++;
  }

  /** The same inside one transaction, with the store's own statements. */
  async #workInside(): Promise<void> {
    await this.#inTransaction(async () => {
      const lane = this.#lanes[this.#random(this.#lanes.length)] as number;
      const values = [this.#worker, 60_000, 3, `{${lane}}`, '{3}', '{-32768}', '{0}', null, null, null];
      const { rows } = await this.#client.query<{ id: string | null; attempt: number }>(TEXTS.claim, values);
      const leases = rows.filter(({ id }) => id !== null);
      await this.#hold();
      if (leases.length === 0) return;
      const ends = leases.map(() => 4);
      await this.#client.query(TEXTS.settle, [
        numbers(leases.map(({ id }) => Number(id))),
        numbers(leases.map(({ attempt }) => attempt)),
        numbers(ends),
        numbers(leases.map(() => 0)),
        leases.map(() => '1'),
        leases.map(() => false),
      ]);
    });
  }

  async #cancelAndRevive(): Promise<void> {
    const tasks = (await this.#store.taskList({ limit: 40 })).map(({ task }) => task);
    const some = tasks.filter(() => this.#random(10) === 0);
    if (some.length === 0) return;
    await this.#store.taskCancel({ tasks: some });
    if (this.#random(2) === 0) await this.#store.taskRevive({ tasks: some });
  }

  async #inTransaction(body: () => Promise<void>): Promise<void> {
    await this.#client.query('BEGIN');
    try {
      await body();
    } catch (error) {
      await this.#client.query('ROLLBACK');
      if (!['40P01', '40001'].includes(String((error as { code?: unknown }).code))) throw error;
      return;
    }
    const back = this.#random(3) === 0;
    if (back) this.counts['rolled back']++;
    await this.#client.query(back ? 'ROLLBACK' : 'COMMIT');
  }

  async #hold(): Promise<void> {
    if (this.#random(2) === 0) return;
    this.counts['held open']++;
    await sleep(this.#random(HELD_MS));
  }
}

/** One of two sequencers. It loses its term now and then, and does not notice at once. */
async function sequence(
  store: PostgresStore,
  name: string,
  random: Scene['random'],
  over: { readonly written: () => boolean; readonly numbered: () => boolean },
): Promise<{ terms: number; numbered: number; refused: number }> {
  const counts = { terms: 0, numbered: 0, refused: 0 };
  while (!over.numbered()) {
    const term: DutyTerm | undefined = await store.dutyTake({ name: 'feed', holder: name, ttlMs: TERM_MS });
    if (term === undefined) {
      await sleep(10);
      continue;
    }
    counts.terms++;
    const number = async (): Promise<void> => {
      try {
        const { events } = await store.eventNumber({ duty: term, limit: 1 + random(40) });
        counts.numbered += events;
      } catch (error) {
        if (!isEngineError(error, 'DUTY_LOST')) throw error;
        counts.refused++;
        lost = true;
      }
    };
    let lost = false;
    let awake = performance.now() + 100 + random(400);
    while (!lost && !over.numbered()) {
      // Renewals and repeated calls contend with the numbering for the same row.
      const also = [() => store.dutyRenew({ duty: term, ttlMs: TERM_MS }), number, () => sleep(random(10))];
      await Promise.all([number(), (also[random(3)] as () => Promise<unknown>)()]);
      if (performance.now() < awake || over.written()) continue;
      await sleep(2 * TERM_MS);
      awake = performance.now() + random(400);
    }
  }
  return counts;
}

/** Every counter against the rows, in one snapshot. */
const DRIFT = `WITH s AS (${TEXTS.queueList}),
    c AS (SELECT queue, state, count(*) AS n FROM (SELECT queue, state FROM "${SCHEMA}".task
      UNION ALL SELECT queue, state FROM "${SCHEMA}".done) r GROUP BY queue, state)
  SELECT s.name, x.state, x.kept, coalesce(c.n, 0) AS counted FROM s
  CROSS JOIN LATERAL (VALUES ${STATES.map((state, code) => `(${code}, s.${state})`).join(', ')}) x(state, kept)
  LEFT JOIN c ON c.queue = s.id AND c.state = x.state WHERE x.kept <> coalesce(c.n, 0)`;

async function sample(client: pg.Client, until: () => boolean): Promise<number> {
  let samples = 0;
  for (; !until(); samples++) {
    assert.deepEqual((await client.query(DRIFT)).rows, [], `snapshot ${samples}: the counters are not exact`);
    await sleep(20);
  }
  return samples;
}

/** Reads the feed as it grows, in pages of every size. */
async function read(store: PostgresStore, random: Scene['random'], until: () => boolean): Promise<TaskEvent[]> {
  const events: TaskEvent[] = [];
  for (let over = false; ; ) {
    const page = await store.eventRead({ after: events.length, limit: 1 + random(200) });
    assert.equal(page.reset, false);
    for (const event of page.events) {
      assert.equal(event.seq, events.length + 1, 'the feed has a gap or a repeat');
      assert.ok(isTaskEvent(event));
      events.push(event);
    }
    assert.equal(page.last, events.length);
    if (page.events.length > 0) continue;
    if (over) return events;
    over = until();
    if (!over) await sleep(5);
  }
}

test('under eight writers and two that number, the feed has every event once, causes before effects', async (t) => {
  const it = await scene(t);
  const [first, ...stores] = await Promise.all(Array.from({ length: 4 }, () => it.open()));
  assert.ok(first);
  const writers: Writer[] = [];
  for (let n = 0; n < WRITERS; n++)
    writers.push(await Writer.open(it, n % 2 === 0 ? first : (stores[0] as PostgresStore), n));
  const end = performance.now() + RUN_MS;
  const written = { over: false };
  const numbered = { over: false };

  const writing = Promise.all(
    writers.map(async (writer) => {
      while (performance.now() < end) await writer.step();
    }),
  ).finally(() => {
    written.over = true;
  });
  const stage = async (): Promise<void> => {
    const duty = (await first.dutyTake({ name: 'stager', holder: 'one', ttlMs: 600_000 })) as DutyTerm;
    for (; !written.over; await sleep(30)) await first.taskStage({ duty, limit: 50 });
  };
  const audit = async (): Promise<void> => {
    const duty = (await first.dutyTake({ name: 'auditor', holder: 'one', ttlMs: 600_000 })) as DutyTerm;
    for (; !written.over; await sleep(100))
      assert.deepEqual(await first.statsAudit({ duty }), [], 'an audit found drift');
  };
  const sequencers = Promise.all(
    stores
      .slice(1)
      .map((store, i) =>
        sequence(store, `s${i}`, it.random, { written: () => written.over, numbered: () => numbered.over }),
      ),
  );
  const looking = await it.client();
  const sampling = sample(looking, () => numbered.over);
  const reading = read(first, it.random, () => numbered.over);
  const drained = (async () => {
    await Promise.all([writing, stage(), audit()]);
    for (let left = 1; left > 0; await sleep(20)) {
      const { rows } = await looking.query<{ n: string }>(`SELECT count(*) AS n FROM "${SCHEMA}".outbox`);
      left = Number(rows[0]?.n);
    }
  })().finally(() => {
    numbered.over = true;
  });
  const [events, samples, counts] = await Promise.all([reading, sampling, sequencers, drained]);

  const total = writers.map(({ counts: own }) => own).reduce((a, b) => addUp(a, b));
  t.diagnostic(
    `${events.length} events, ${JSON.stringify(total)}, ${samples} snapshots, sequencers ${JSON.stringify(counts)}`,
  );
  replay(events, await recordsOf(first));
  const at = new Map(events.map((event) => [`${event.change} ${event.task}/${event.attempt}`, event.seq]));
  for (const { claimed, child } of writers.flatMap(({ causes }) => causes)) {
    const cause = at.get(`claimed ${claimed.task}/${claimed.attempt}`) as number;
    const effect = at.get(`created ${child}/0`) as number;
    assert.ok(
      cause < effect,
      `task ${child} was pushed by attempt ${claimed.task}/${claimed.attempt} and comes before it`,
    );
  }
  const [row] = (
    await looking.query(`SELECT count(*) FILTER (WHERE next IS NOT NULL AND next <> seq + n) AS gaps,
      max(seq + n - 1) AS last, (SELECT cursor FROM "${SCHEMA}".duty WHERE name = 'feed') AS cursor
      FROM (SELECT seq, n, lead(seq) OVER (ORDER BY seq) AS next FROM "${SCHEMA}".event) e`)
  ).rows;
  assert.deepEqual(row, { gaps: '0', last: `${events.length}`, cursor: `${events.length}` });
  assert.equal(
    counts.reduce((sum, own) => sum + own.numbered, 0),
    events.length,
    'each event was numbered once',
  );
  // The run is worth nothing unless each of these has happened.
  for (const [what, n] of Object.entries(total)) assert.ok(n > 0, `nothing was ${what}`);
  for (const { terms, refused } of counts) assert.ok(terms > 0 && refused > 0, 'the duty did not go to and fro');
});

function addUp<T extends Record<string, number>>(a: T, b: T): T {
  return Object.fromEntries(Object.entries(a).map(([key, n]) => [key, n + (b[key] as number)])) as T;
}

async function recordsOf(store: PostgresStore): Promise<ReadonlyMap<number, { state: TaskState; attempt: number }>> {
  const records = await store.taskList({ limit: 1_000_000 });
  return new Map(records.map(({ task, state, attempt }) => [task, { state, attempt }]));
}

/** For each task the feed has a legal history that ends at the state of its row. */
function replay(events: readonly TaskEvent[], rows: Awaited<ReturnType<typeof recordsOf>>): void {
  const told = new Map<number, { state: TaskState; attempt: number }>();
  for (const { seq, task, change, state, attempt } of events) {
    const before = told.get(task);
    assert.ok(
      isLegal(change, before?.state, state),
      `event ${seq} moves task ${task} from ${before?.state} to ${state} by ${change}`,
    );
    assert.equal(attempt, (before?.attempt ?? 0) + (change === 'claimed' ? 1 : 0), `event ${seq} of task ${task}`);
    told.set(task, { state, attempt });
  }
  assert.deepEqual(
    [...told].toSorted(([a], [b]) => a - b),
    [...rows].toSorted(([a], [b]) => a - b),
  );
}

test('a page of events reads the rows that it brings, and not all that follow', async (t) => {
  const { open, client } = await scene(t);
  const store = await open();
  const raw = await client();
  await raw.query(
    `INSERT INTO "${SCHEMA}".event (seq, n, at, queue, kind, state, ids, attempts, born)
     SELECT 1 + 100 * i, 100, 0, 0, 0, 0, array_fill(1, ARRAY[100]), array_fill(0, ARRAY[100]), ARRAY[0] FROM generate_series(0, 49) i`,
  );
  const rows = async (from: number): Promise<number> => (await raw.query(TEXTS.eventRead, [from, 500])).rows.length;
  assert.deepEqual([await rows(1), await rows(2051), await rows(5001)], [5, 6, 1]);
  const { events, last } = await store.eventRead({ after: 2050, limit: 500 });
  assert.deepEqual([events.length, events[0]?.seq, last], [500, 2051, 2550]);
  await raw.query(`DELETE FROM "${SCHEMA}".event WHERE seq < 4000`);
  const page = await store.eventRead({ after: 10, limit: 500 });
  assert.deepEqual([page.reset, page.events[0]?.seq, page.events.length], [true, 4001, 500]);
});
