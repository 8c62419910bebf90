import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { realWorld } from '../../../src/app/world.ts';
import { DUTIES } from '../../../src/engine/duties/roster.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { openPostgres } from '../../../src/store/postgres/open.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { scaled } from '../../support/scale.ts';
import { type Child, Nursery, scratch } from '../children.ts';
import { checkWitness, installWitness } from './duties-witness.ts';

const SCHEMA = 'duties';
const PROCESSES = 5;
const KILLS = scaled(2, 20);
const FREEZES = scaled(1, 10);
/** Of leases and of duties. */
const TERM_MS = 2000;
const TAKEOVER_MS = TERM_MS + 2000;
/** A transaction that a stopped process left open is ended by the server after 5 s. */
const STUCK_MS = 5000;
/** Those that write all the time; the other two do so at the beginning of a term, and then rarely. */
const BUSY = ['stager', 'reaper', 'feed', 'cron'] as const;

interface Note {
  readonly call?: number;
  readonly verb?: string;
  readonly duty?: string;
  readonly epoch?: number;
  readonly answer?: string;
  readonly took?: string;
  readonly at?: number;
}

interface Write {
  readonly by: string;
  readonly verb: string;
  readonly duty: string;
  readonly epoch: number;
  readonly answer: string | undefined;
  readonly at: number | undefined;
}

class Contest {
  readonly #t: TestContext;
  readonly #nursery: Nursery;
  readonly #folder: string;
  readonly #url: string;
  readonly #client: pg.Client;
  readonly #children = new Map<string, Child>();
  readonly #names: string[] = [];
  #holds = 0;
  readonly takeovers: number[] = [];
  late = 0;

  constructor(t: TestContext, url: string, client: pg.Client) {
    this.#t = t;
    this.#nursery = new Nursery(t);
    this.#folder = scratch(t, 'duties');
    this.#url = url;
    this.#client = client;
  }

  async start(): Promise<void> {
    const name = `p${this.#names.length}`;
    this.#names.push(name);
    const program = new URL('./duties-child.ts', import.meta.url);
    const child = this.#nursery.start(program, [this.#url, name, this.#log(name), `${TERM_MS}`]);
    this.#children.set(name, child);
    await child.hear('ready');
  }

  /** Everything that is held just now. */
  async held(): Promise<ReadonlyMap<string, { readonly holder: string; readonly epoch: number }>> {
    const { rows } = await this.#client.query(
      `SELECT name, holder, epoch::int FROM "${SCHEMA}".duty WHERE until >= "${SCHEMA}".now_ms()`,
    );
    return new Map(rows.map(({ name, holder, epoch }) => [name, { holder, epoch }]));
  }

  /** Until every duty is held by somebody that is there. */
  async steady(): Promise<void> {
    const deadline = performance.now() + 4 * TERM_MS + STUCK_MS;
    for (;;) {
      const held = await this.held();
      if (DUTIES.every((duty) => this.#children.has(held.get(duty)?.holder ?? ''))) return;
      assert.ok(performance.now() < deadline, `not every duty is held: ${JSON.stringify([...held])}`);
      await sleep(20);
    }
  }

  /** Kills the holder of a duty; says how long each of its duties was without one. */
  async kill(duty: string): Promise<ReadonlyMap<string, number>> {
    await this.steady();
    const before = await this.held();
    const victim = before.get(duty)?.holder as string;
    const lost = [...before].filter(([, { holder }]) => holder === victim);
    const killedAt = await this.#clock();
    const child = this.#children.get(victim) as Child;
    this.#children.delete(victim);
    await child.kill();
    const starting = this.start();
    const took = new Map<string, number>();
    for (const [name, { epoch }] of lost) took.set(name, (await this.#atWork(name, epoch)) - killedAt);
    await starting;
    return took;
  }

  /** When somebody with a newer epoch was at work on the duty, by the server's clock. */
  async #atWork(duty: string, epoch: number): Promise<number> {
    const deadline = performance.now() + 3 * TAKEOVER_MS;
    for (;;) {
      const times = this.notes().flatMap(({ notes }): readonly (number | undefined)[] =>
        // The reaper looks for a lease's time before it writes again after one that vanished: its first look counts.
        duty === 'reaper'
          ? notes.filter(({ took, epoch: n = 0 }) => took === duty && n > epoch).map(({ at }) => at)
          : worked(notes)
              .filter((note) => note.duty === duty && note.epoch > epoch)
              .map(({ at }) => at),
      );
      const first = Math.min(...times.filter((at) => at !== undefined));
      if (first < Number.POSITIVE_INFINITY) return first;
      assert.ok(performance.now() < deadline, `nobody took ${duty} over after epoch ${epoch}`);
      await sleep(30);
    }
  }

  /** Stops a holder between its checks and its write, for longer than its term; then the write goes out. */
  async freezeBeforeWrite(duty: (typeof BUSY)[number]): Promise<void> {
    await this.steady();
    const { holder, child } = await this.#holderOf(duty);
    const id = ++this.#holds;
    child.tell({ word: 'hold back', duty, id });
    const about = await Promise.race([child.hear(`about ${id}`), sleep(TERM_MS)]);
    if (about === undefined) {
      // It lost the duty just before.
      for (const word of ['hold back', 'go']) child.tell({ word });
      return this.freezeBeforeWrite(duty);
    }
    const epoch = about['epoch'] as number;
    child.process.kill('SIGSTOP');
    const deadline = performance.now() + 3 * TAKEOVER_MS + STUCK_MS;
    for (;;) {
      const now = (await this.held()).get(duty);
      if (now !== undefined && now.epoch > epoch && now.holder !== holder) break;
      assert.ok(performance.now() < deadline, `nobody took ${duty} over from a frozen holder`);
      await sleep(20);
    }
    child.process.kill('SIGCONT');
    child.tell({ word: 'go' });
    const { answer } = await child.hear(`answered ${id}`);
    assert.equal(answer, 'DUTY_LOST', `a write of ${duty} with the old epoch ${epoch}`);
  }

  /** Stops a holder wherever it is, perhaps inside a transaction. */
  async freezeAnywhere(duty: (typeof BUSY)[number]): Promise<void> {
    await this.steady();
    const { child } = await this.#holderOf(duty);
    const epoch = (await this.held()).get(duty)?.epoch ?? 0;
    child.process.kill('SIGSTOP');
    const deadline = performance.now() + TAKEOVER_MS + STUCK_MS;
    while (((await this.held()).get(duty)?.epoch ?? 0) <= epoch) {
      assert.ok(performance.now() < deadline, `nobody took ${duty} over from a frozen holder`);
      await sleep(20);
    }
    await sleep(200);
    child.process.kill('SIGCONT');
  }

  async #holderOf(duty: string): Promise<{ readonly holder: string; readonly child: Child }> {
    const holder = (await this.held()).get(duty)?.holder as string;
    return { holder, child: this.#children.get(holder) as Child };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#children.values()].map((child) => child.kill()));
  }

  notes(): readonly { readonly name: string; readonly notes: readonly Note[] }[] {
    return this.#names.map((name) => ({ name, notes: readNotes(this.#log(name)) }));
  }

  async #clock(): Promise<number> {
    return Number((await this.#client.query(`SELECT "${SCHEMA}".now_ms() AS now`)).rows[0].now);
  }

  #log(name: string): string {
    return join(this.#folder, `${name}.jsonl`);
  }

  say(text: string): void {
    this.#t.diagnostic(text);
  }
}

function readNotes(file: string): readonly Note[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return []; // it has said nothing yet
  }
  // What follows the last line break is a line that death cut short.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Note]));
}

/** Calls and their answers in one. */
function worked(notes: readonly Note[], by = ''): readonly Write[] {
  const answers = new Map(notes.flatMap((note) => (note.answer === undefined ? [] : [[note.call, note]])));
  return notes.flatMap(({ call, verb, duty, epoch }) => {
    if (verb === undefined || duty === undefined || epoch === undefined) return [];
    const { answer, at } = answers.get(call) ?? {};
    return [{ by, verb, duty, epoch, answer, at: answer === 'ok' ? at : undefined }];
  });
}

/** Gives the stager, the reaper and the feed something to do until it is told to stop; then everything must end. */
async function traffic(engine: Engine, until: () => boolean): Promise<number> {
  const worker = await engine.workers.register({ name: 'w', incarnation: 'w', slots: 50 });
  let pushed = 0;
  // Some are abandoned again and again: with the usual policy they would come back after minutes.
  const work = { queue: 'work', handler: 'run', maxAttempts: 200, retry: { maxMs: 1000 } };
  const claim = async (abandon: boolean): Promise<void> => {
    const grants = await engine.claim({ worker, max: 20, queues: ['work'], leaseMs: TERM_MS });
    for (const grant of grants) if (!abandon || grant.task % 3 > 0) await engine.complete(grant);
  };
  for (; !until(); await sleep(100)) {
    await engine.push({ ...work, delay: 200 });
    await engine.push(work);
    pushed += 2;
    await claim(true);
  }
  const deadline = performance.now() + 30_000;
  while ((await engine.stats('work')).completed < pushed) {
    assert.ok(performance.now() < deadline, `not all work ended: ${JSON.stringify(await engine.stats('work'))}`);
    await claim(false);
    await sleep(50);
  }
  return pushed;
}

/** Every second from the first slot on has one task, and none has two. */
async function checkSlots(client: pg.Client, firstSlot: number): Promise<number> {
  const { rows } = await client.query<{ key: string; task: string; tasks: string }>(
    `SELECT u.key, u.task, (SELECT count(*) FROM "${SCHEMA}".task t JOIN "${SCHEMA}".queue q ON q.id = t.queue
        WHERE q.name = 'ticks') AS tasks
      FROM "${SCHEMA}".uniq u JOIN "${SCHEMA}".queue q ON q.id = u.queue WHERE q.name = 'ticks' ORDER BY u.key`,
  );
  const slots = rows.map(({ key }) => Date.parse(key.replace('cron:tick:', '')));
  assert.deepEqual(
    slots,
    slots.map((_, i) => firstSlot + 1000 * i),
    'a slot was lost',
  );
  assert.equal(Number(rows[0]?.tasks), slots.length, 'a slot fired twice');
  assert.equal(new Set(rows.map(({ task }) => task)).size, slots.length);
  return slots.length;
}

test(`five processes contend for the duties; ${KILLS} holders are killed and ${FREEZES} frozen`, async (t) => {
  const database = await freshDatabase('duties');
  const url = `${database}&schema=${SCHEMA}`;
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  t.after(() => client.end());
  const store = await openPostgres({ url: `${url}&pool=4&application_name=client`, world: realWorld() });
  t.after(() => store.close());
  await installWitness(client, SCHEMA);
  const engine = new Engine({ store, world: realWorld(), leaseMs: TERM_MS });
  const tick = { name: 'tick', cron: '* * * * * *', queue: 'ticks', handler: 'run', missed: 'all' } as const;
  const firstSlot = await engine.schedules.put(tick);

  const contest = new Contest(t, url, client);
  await Promise.all(Array.from({ length: PROCESSES }, () => contest.start()));
  let over = false;
  const working = traffic(engine, () => over);

  const plan = ['kill', 'freeze'].flatMap((what) =>
    Array.from({ length: what === 'kill' ? KILLS : FREEZES }, () => what),
  );
  plan.sort(() => Math.random() - 0.5);
  let frozen = 0;
  for (const [i, what] of plan.entries()) {
    const duty = BUSY[i % BUSY.length] as (typeof BUSY)[number];
    if (what === 'kill') await killInTime(contest, duty);
    else if (frozen++ % 3 < 2) await contest.freezeBeforeWrite(duty);
    else await contest.freezeAnywhere(duty);
  }
  await contest.steady();
  over = true;
  const pushed = await working;
  await contest.stop();

  const slots = await checkSlots(client, firstSlot);
  const { writes, terms } = await checkWitness(client, SCHEMA);
  const lost = checkNotes(contest);
  assert.ok(lost >= Math.ceil(FREEZES / 2), 'no write of an old epoch was tried');
  for (const duty of BUSY) assert.ok((writes[duty] ?? 0) > 0 && (terms[duty] ?? 0) > 1, `${duty} did not go round`);
  const sorted = contest.takeovers.toSorted((a, b) => a - b);
  contest.say(
    `takeovers ${sorted.length}: median ${sorted[sorted.length >> 1]} ms, longest ${sorted.at(-1)} ms, ${contest.late} late; ` +
      `writes ${JSON.stringify(writes)}; terms ${JSON.stringify(terms)}; ${lost} writes of old epochs refused; ` +
      `${slots} slots, each once; ${pushed} tasks`,
  );
});

/** A stranger's load may spoil one: then the next holder is killed too, and that takeover must be in time. */
async function killInTime(contest: Contest, duty: string): Promise<void> {
  for (let again = 0; ; again++) {
    const took = await contest.kill(duty);
    contest.takeovers.push(...took.values());
    const slow = [...took].filter(([, ms]) => ms > TAKEOVER_MS);
    if (slow.length === 0) return;
    contest.late++;
    contest.say(`late: ${JSON.stringify(slow)}`);
    assert.ok(again === 0, `twice in a row a takeover took longer than ${TAKEOVER_MS} ms: ${JSON.stringify(slow)}`);
  }
}

/** What the processes were told: each epoch was one process's, and nobody else's writes under it were accepted. */
function checkNotes(contest: Contest): number {
  const owner = new Map<string, string>();
  const all = contest.notes();
  for (const { name, notes } of all) {
    for (const { took, epoch } of notes) {
      if (took === undefined) continue;
      assert.equal(owner.get(`${took} ${epoch}`), undefined, `epoch ${epoch} of ${took} was given twice`);
      owner.set(`${took} ${epoch}`, name);
    }
  }
  let lost = 0;
  for (const { by, verb, duty, epoch, answer } of all.flatMap(({ name, notes }) => worked(notes, name))) {
    if (answer === 'DUTY_LOST') lost++;
    if (answer !== 'ok') continue;
    assert.equal(owner.get(`${duty} ${epoch}`), by, `${verb} of ${by} with epoch ${epoch} of ${duty} was accepted`);
  }
  return lost;
}
