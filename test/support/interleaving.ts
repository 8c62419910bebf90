/**
 * Several connections taken step by step through every order in which their statements can run. A step is one statement or
 * the end of a transaction; one that waits for a lock is seen by the server's own list of who waits for whom, never by time.
 * The store above is the real one: only the pool below it is replaced.
 */
import assert from 'node:assert/strict';
import type pg from 'pg';
import { realWorld } from '../../src/app/world.ts';
import { isEngineError } from '../../src/core/errors.ts';
import type { Snapshot } from '../../src/store/conformance/kit/snapshot.ts';
import { VirtualWorld } from '../../src/store/conformance/kit/virtual-world.ts';
import { Connection } from '../../src/store/postgres/connect/connection.ts';
import type { Database, Session, Try } from '../../src/store/postgres/connect/database.ts';
import type { PostgresWakeups } from '../../src/store/postgres/connect/wakeups.ts';
import { LaneCursors } from '../../src/store/postgres/lane-cursors.ts';
import { Lanes } from '../../src/store/postgres/lanes.ts';
import type { StatementName, Statements } from '../../src/store/postgres/statements.ts';
import { postgresStore } from '../../src/store/postgres/store.ts';
import type { Store } from '../../src/store/store.ts';

/** What befalls the first transaction of an actor that writes something. */
export type Fault =
  /** It is undone, and its process is gone. */
  | 'dies'
  /** It is undone, and sent again. */
  | 'is undone and sent again'
  /** It is done, its answer lost, and sent again. */
  | 'is done and sent again'
  /** Its connection breaks while it runs: it is sent again over another one while the first is still open, and then done. */
  | 'is sent twice and done'
  /** The same, but the first is undone in the end. */
  | 'is sent twice and undone';

export interface Act {
  readonly name: string;
  readonly act: (store: Store) => Promise<unknown>;
  /** What it answers when it steps over rows that others hold: it may do so at any time. */
  readonly nothing?: unknown;
  /** Where its steps begin to matter; before, it is not stopped. */
  readonly from?: RegExp;
}

export interface Actor extends Act {
  readonly fault?: Fault | undefined;
}

class Lost extends Error {}
class Died extends Error {}
class Skipped extends Error {}

/** Nothing that others could see or wait for happens in these: stopping before them would only make more of the same. */
const QUIET: ReadonlySet<StatementName> = new Set([
  'now',
  'pruneBodies',
  'pruneAttempts',
  'pruneLogs',
  'pruneDeps',
  'pruneWaits',
  'pruneJournals',
  'journalAdd',
  'treeMark',
  'turnWait',
  'pruneWorkers',
  'dutyCursor',
  'taskIds',
  'notify',
  'laneGet',
  'stageNext',
  'expireNext',
  'nextExpiry',
  'queueNames',
  'pruneOps',
  'pruneFlights',
  'pruneEventsLook',
  'pruneEvents',
]);
const QUIET_RAW = /^(SET LOCAL|SAVEPOINT|SELECT c\.relname)/;
const IDLE = 'SELECT pg_current_xact_id_if_assigned() IS NULL AS idle';
const READS = /^SELECT (?![^]*(FOR (UPDATE|SHARE|NO KEY|KEY)|nextval|pg_notify))/;

type State = 'ready' | 'running' | 'blocked' | 'over';

/** Whoever goes through steps: an actor, or what is left of a connection that broke. */
class Walker {
  readonly name: string;
  state: State = 'running';
  label = '';
  pid = 0;
  /** It stands before the first step of a sending. */
  fresh = true;
  #begins = true;
  #from: RegExp | undefined;
  #go: (() => void) | undefined;

  constructor(name: string, from?: RegExp) {
    this.name = name;
    this.#from = from;
  }

  begin(): void {
    this.#begins = true;
  }

  /** Called from within: waits until the schedule says so. */
  async gate(label: string): Promise<void> {
    if (this.#from !== undefined && !this.#from.test(label)) return;
    this.#from = undefined;
    this.label = label;
    this.fresh = this.#begins;
    this.#begins = false;
    await new Promise<void>((resolve) => {
      this.#go = resolve;
      this.state = 'ready';
    });
  }

  go(): void {
    const go = this.#go;
    this.#go = undefined;
    this.state = 'running';
    go?.();
  }
}

interface Stage {
  readonly schema: string;
  readonly texts: Statements;
  /** Connections that are free. */
  readonly spare: Connection[];
  readonly connect: () => Promise<Connection>;
  readonly monitor: pg.Client;
  readonly lanes: Lanes;
}

export type { Stage };

/** The pool of one actor. */
class SteppedDatabase {
  readonly pooled = false;
  readonly #stage: Stage;
  readonly #walker: Walker;
  readonly #play: Play;
  readonly #skip: boolean;
  #fault: Fault | undefined;

  constructor(stage: Stage, walker: Walker, play: Play, { fault }: Actor, skip: boolean) {
    this.#stage = stage;
    this.#walker = walker;
    this.#play = play;
    this.#fault = fault;
    this.#skip = skip;
  }

  run<T>(body: (session: Session, tried: Try) => Promise<T>): Promise<T> {
    return this.#sendings(async (connection, tried) => {
      const step = async <R>(name: string, reads: boolean, ask: () => Promise<R>): Promise<R> => {
        if (reads) {
          if (!QUIET.has(name as StatementName)) await this.#walker.gate(name);
          return ask();
        }
        await this.#walker.gate(name);
        await connection.raw('BEGIN');
        const answer = await ask().catch(async (error: unknown) => {
          await connection.raw('ROLLBACK');
          throw error;
        });
        // Without a number of its own it has written and locked nothing: its end is nobody's business.
        const [{ idle } = { idle: false }] = await connection.all<{ idle: boolean }>('idle', IDLE, []);
        await (idle ? connection.raw('COMMIT') : this.#end(connection));
        return answer;
      };
      return body(this.#session(connection, step), tried);
    });
  }

  transaction<T>(body: (session: Session, tried: Try) => Promise<T>): Promise<T> {
    return this.#sendings(async (connection, tried) => {
      let begun = false;
      const step = async <R>(name: string, _reads: boolean, ask: () => Promise<R>): Promise<R> => {
        if (!QUIET.has(name as StatementName) && !QUIET_RAW.test(name)) await this.#walker.gate(name);
        if (!begun) await connection.raw('BEGIN');
        begun = true;
        return ask();
      };
      try {
        const answer = await body(this.#session(connection, step), tried);
        await this.#end(connection);
        return answer;
      } catch (error) {
        if (begun && !(error instanceof Lost)) await connection.raw('ROLLBACK');
        throw error;
      }
    });
  }

  async #sendings<T>(body: (connection: Connection, tried: Try) => Promise<T>): Promise<T> {
    for (let again = false; ; again = true) {
      const last = again || this.#fault === undefined;
      if (this.#skip && last) throw new Skipped();
      this.#walker.begin();
      const connection = await this.#take();
      try {
        return await body(connection, { again });
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
      } finally {
        if (this.#play.held.delete(connection)) this.#stage.spare.push(connection);
      }
    }
  }

  async #take(): Promise<Connection> {
    const { spare } = this.#stage;
    let connection = spare.pop();
    while (connection?.usable === false) connection = spare.pop();
    connection ??= await this.#stage.connect();
    this.#walker.pid = connection.pid;
    this.#play.held.add(connection);
    return connection;
  }

  async #end(connection: Connection): Promise<void> {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault === 'is sent twice and done' || fault === 'is sent twice and undone') {
      this.#play.haunt(this.#walker.name, connection, fault === 'is sent twice and done' ? 'COMMIT' : 'ROLLBACK');
      throw new Lost();
    }
    const undone = fault === 'dies' || fault === 'is undone and sent again';
    const word = undone ? 'ROLLBACK' : 'COMMIT';
    await this.#walker.gate(word);
    await connection.raw(word);
    if (fault === 'dies') throw new Died();
    if (fault !== undefined) throw new Lost();
  }

  #session(
    connection: Connection,
    step: <R>(name: string, reads: boolean, ask: () => Promise<R>) => Promise<R>,
  ): Session {
    const { texts } = this.#stage;
    const reads = (name: StatementName): boolean => READS.test(texts[name]);
    return {
      rows: (name, values) => step(name, reads(name), () => connection.rows(name, texts[name], values)),
      all: (name, values) => step(name, reads(name), () => connection.all(name, texts[name], values)),
      raw: (text, values) => step(text, READS.test(text), () => connection.all(undefined, text, values ?? [])),
    };
  }
}

export interface Outcome {
  readonly answers: readonly unknown[];
  /** What was done in which order, in words. */
  readonly trace: readonly string[];
}

interface Decision {
  readonly chosen: number;
  readonly options: number;
}

const POLLS = 20_000;

/** Claims try the way of ample slots first, and go the other where there is not enough room. */
const EVERY_COUNTER = new (class extends Set<number> {
  override has(): boolean {
    return true;
  }
})();

/** One schedule. */
class Play {
  readonly held = new Set<Connection>();
  readonly trace: string[] = [];
  readonly decisions: Decision[] = [];
  readonly #stage: Stage;
  readonly #walkers: Walker[] = [];
  readonly #ghosts: Promise<void>[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async run(actors: readonly Actor[], choices: readonly number[], how: How): Promise<Outcome> {
    try {
      return await this.#run(actors, choices, how);
    } catch (error) {
      // Whatever stands somewhere in the middle must not be in the way of the next.
      const pids = this.#walkers.map(({ pid }) => pid);
      await this.#stage.monitor.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) x(pid)', [pids]);
      this.#stage.spare.length = 0;
      throw error;
    }
  }

  async #run(actors: readonly Actor[], choices: readonly number[], how: How): Promise<Outcome> {
    const own = actors.map(({ name, from }) => new Walker(name, from));
    this.#walkers.push(...own);
    const answers = actors.map((actor, i) => this.#act(actor, own[i] as Walker, how.skips.has(i)));
    let last: Walker | undefined;
    let strayed = false;
    let looks = 0;
    for (;;) {
      for (const walker of this.#walkers) await this.#rest(walker);
      const ready = this.#walkers.filter(({ state }) => state === 'ready');
      if (ready.length === 0) {
        const blocked = this.#walkers.filter(({ state }) => state === 'blocked');
        if (blocked.length === 0) break;
        // Who was seen to wait may have been let go while the next one was looked at.
        if (++looks < 5) continue;
        for (const answer of answers) answer.catch(() => {});
        assert.fail(`they wait for each other: ${this.trace.join(', ')}`);
      }
      const whole = how.serial && last?.state === 'ready' && !last.fresh;
      looks = 0;
      const wanted = ready.findIndex(({ name }) => name === how.order?.[this.decisions.length]);
      const other = how.random === undefined ? Math.max(0, wanted) : Math.floor(how.random() * ready.length);
      const asked = whole ? ready.indexOf(last as Walker) : (choices[this.decisions.length] ?? other);
      // Of two that wait for one lock now this one, now that one gets it: then this way was another one, and ends here.
      strayed ||= asked >= ready.length;
      const chosen = Math.min(asked, ready.length - 1);
      if (!whole) this.decisions.push({ chosen, options: strayed ? 1 : ready.length });
      last = ready[chosen] as Walker;
      this.trace.push(`${last.name} ${last.label}`);
      last.go();
      await this.#rest(last);
      if (last.state === 'blocked') this.trace.push(`${last.name} waits`);
    }
    const outcome = { answers: await Promise.all(answers), trace: this.trace };
    await Promise.all(this.#ghosts);
    return outcome;
  }

  /** The first sending goes on at the server while the second is on its way. */
  haunt(name: string, connection: Connection, how: 'COMMIT' | 'ROLLBACK'): void {
    this.held.delete(connection);
    const walker = new Walker(`the first ${name}`);
    walker.pid = connection.pid;
    this.#walkers.push(walker);
    const end = async (): Promise<void> => {
      await walker.gate(how);
      await connection.raw(how);
      this.#stage.spare.push(connection);
      walker.state = 'over';
    };
    this.#ghosts.push(end());
  }

  async #act(actor: Actor, walker: Walker, skip: boolean): Promise<unknown> {
    const { schema, texts, lanes } = this.#stage;
    const world = realWorld();
    const database = new SteppedDatabase(this.#stage, walker, this, actor, skip) as unknown as Database;
    const parts = {
      database,
      reserved: database,
      world,
      texts,
      schema,
      lanes,
      cursors: new LaneCursors({ ...world.clock, monotonic: () => 0 }),
      rated: new Set<number>(),
      ample: EVERY_COUNTER,
    };
    const wakeups = {
      look: () => {},
      attach: () => undefined,
      notify: () => {},
      notifyAll: () => {},
      close: () => Promise.resolve(),
    } as unknown as PostgresWakeups;
    try {
      return await actor.act(postgresStore({ ...parts, store: ++stores }, wakeups, ''));
    } catch (error) {
      if (error instanceof Died) return 'died';
      if (error instanceof Skipped) return actor.nothing;
      if (isEngineError(error)) return error.code;
      throw error;
    } finally {
      walker.state = 'over';
    }
  }

  /** Until it stands before a step, has ended, or waits for a lock. */
  async #rest(walker: Walker): Promise<void> {
    if (walker.state === 'blocked') walker.state = 'running';
    for (let i = 0; walker.state === 'running'; i++) {
      assert.ok(i < POLLS, `${walker.name} neither goes on nor waits: ${this.trace.join(', ')}`);
      if (walker.pid === 0) await new Promise(setImmediate);
      else if (await this.#waits(walker.pid)) {
        if (walker.state === 'running') walker.state = 'blocked';
      }
    }
  }

  async #waits(pid: number): Promise<boolean> {
    const { rows } = await this.#stage.monitor.query<{ waits: boolean }>({
      name: 'waits',
      // For one of ours: a vacuum passes.
      text: 'SELECT pg_blocking_pids($1) && $2::int[] AS waits',
      values: [pid, this.#walkers.map((walker) => walker.pid)],
    });
    return rows[0]?.waits ?? false;
  }
}

let stores = 1_000_000;

interface How {
  /** One after another: no sending begins before the last one has ended. */
  readonly serial: boolean;
  /** Those that step over what they should do. */
  readonly skips: ReadonlySet<number>;
  /** Who goes at each decision, as long as it can. */
  readonly order?: readonly string[];
  /** Who goes, where nothing else decides. */
  readonly random?: () => number;
}

export interface Scenario {
  readonly prepare: () => Promise<readonly Actor[]>;
  /** Everything that the store shows afterwards. */
  readonly look: () => Promise<Snapshot>;
  readonly check: (snapshot: Snapshot, outcome: Outcome) => void;
  /** It may end as no sequence does. */
  readonly vague?: boolean;
}

/**
 * Every order of the steps of these actors; each must end as some order of the whole actors does. Where there are more than
 * `most`, so many at random besides. Returns how many.
 */
export async function interleave(stage: Stage, scenario: Scenario, most: number): Promise<number> {
  const allowed = scenario.vague ? undefined : await serialEnds(stage, scenario);
  const check = ({ end, outcome, snapshot }: Ended): void => {
    scenario.check(snapshot, outcome);
    if (allowed === undefined || allowed.has(end)) return;
    const story = outcome.trace.join(', ');
    assert.fail(`this order ends as no sequence does: ${story}\n${end}\nallowed:\n${[...allowed].join('\n')}`);
  };
  let count = 0;
  const plain = { serial: false, skips: new Set<number>() };
  for await (const ended of all(stage, scenario, plain, (actors) => actors)) {
    check(ended);
    if (++count === most) break;
  }
  if (count < most) return count;
  const { random } = new VirtualWorld({ seed: 1 });
  for (; count < 2 * most; count++) {
    const outcome = await new Play(stage).run(await scenario.prepare(), [], { ...plain, random });
    const snapshot = await scenario.look();
    check({ end: endOf(snapshot, outcome), outcome, snapshot });
  }
  return count;
}

interface Ended {
  readonly end: string;
  readonly outcome: Outcome;
  readonly snapshot: Snapshot;
}

/** One order. */
export async function direct(stage: Stage, scenario: Scenario, order: readonly string[]): Promise<void> {
  const how = { serial: false, skips: new Set<number>(), order };
  const outcome = await new Play(stage).run(await scenario.prepare(), [], how);
  scenario.check(await scenario.look(), outcome);
}

/** How it may end. */
async function serialEnds(stage: Stage, scenario: Scenario): Promise<ReadonlySet<string>> {
  const ends = new Set<string>();
  const actors = await scenario.prepare();
  const missing = actors.flatMap(({ nothing }, i) => (nothing === undefined ? [] : [i]));
  for (let set = 0; set < 2 ** missing.length; set++) {
    const skips = new Set(missing.filter((_, bit) => set & (1 << bit)));
    for await (const { end } of all(stage, scenario, { serial: true, skips }, inOneSending)) ends.add(end);
    // Whoever is sent twice may have stepped over it the first time: as if it had been sent once.
    const once = (some: readonly Actor[]): readonly Actor[] =>
      inOneSending(some).map((actor, i) => (missing.includes(i) ? { ...actor, fault: undefined } : actor));
    if (!missing.some((i) => actors[i]?.fault !== undefined)) continue;
    for await (const { end } of all(stage, scenario, { serial: true, skips }, once)) ends.add(end);
  }
  return ends;
}

/** A sending that goes on beside its repeat is, as a sequence, one that ended before it. */
function inOneSending(actors: readonly Actor[]): readonly Actor[] {
  return actors.map((actor) => {
    if (actor.fault === 'is sent twice and done') return { ...actor, fault: 'is done and sent again' };
    return actor.fault === 'is sent twice and undone' ? { ...actor, fault: 'is undone and sent again' } : actor;
  });
}

async function* all(
  stage: Stage,
  scenario: Scenario,
  how: How,
  change: (actors: readonly Actor[]) => readonly Actor[],
): AsyncGenerator<Ended> {
  for (let choices: readonly number[] | undefined = []; choices !== undefined; ) {
    const play = new Play(stage);
    const outcome = await play.run(change(await scenario.prepare()), choices, how);
    const snapshot = await scenario.look();
    yield { end: endOf(snapshot, outcome), outcome, snapshot };
    choices = nextOf(play.decisions);
  }
}

/** The next way through the tree of decisions. */
function nextOf(decisions: readonly Decision[]): readonly number[] | undefined {
  const last = decisions.findLastIndex(({ chosen, options }) => chosen + 1 < options);
  if (last < 0) return undefined;
  return [...decisions.slice(0, last).map(({ chosen }) => chosen), (decisions[last] as Decision).chosen + 1];
}

const NUMBERS: ReadonlySet<string> = new Set(['task', 'conflict', 'parent', 'root', 'ref']);

/** Answers and everything visible, with tasks numbered by their order, so that it does not matter which ids were drawn. */
function endOf({ tasks, queues, events, workers, triggers }: Snapshot, { answers }: Outcome): string {
  const ranks = new Map(tasks.map(({ task }, i) => [task, i]));
  const stories = Map.groupBy(events, ({ task }) => task);
  const told = tasks.map(({ task }) =>
    stories.get(task)?.map(({ change, state, attempt }) => [change, state, attempt]),
  );
  const named = (key: string, value: unknown): unknown =>
    NUMBERS.has(key) && typeof value === 'number' ? `#${ranks.get(value) ?? '?'}` : value;
  return JSON.stringify({ answers, tasks, told, queues, workers, triggers }, named);
}
