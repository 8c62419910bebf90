import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { CHANGES, type Change, STATES, type TaskState } from '../../src/core/task/task.ts';
import { ENTRY_KINDS, unitOf } from '../../src/store/codes.ts';
import type { EntryKind } from '../../src/store/store.ts';
import type { AllowanceRow, BudgetRow } from './models/budget-model.ts';
import type { Model } from './models/model.ts';
import { must } from './trace.ts';

interface TaskRow {
  readonly id: number;
  readonly state: number;
  readonly attempt: number;
  readonly tries: number;
  readonly max_tries: number;
  readonly holder: number | null;
  readonly lease_until: number | null;
  readonly run_at: number | null;
  readonly ended_at: number | null;
  readonly open: number;
  readonly queue: number;
  readonly parent: number | null;
  readonly root: number | null;
}

interface EntryRow {
  readonly task: number;
  readonly key: string;
  readonly kind: number;
  readonly attempt: number;
  readonly ref: number | null;
  readonly value: string | null;
}

interface SlotRow {
  readonly id: number;
  readonly key: string;
  readonly cap: number | null;
  readonly active: number;
  readonly counted: number;
}

/** Events of workers have kinds from this one on. */
const WORKER_KIND = 100;

/** What has ended is looked at again only so often: it is most of the tasks, and should be as it was. */
const WHOLE_LOOK = 16;

/** Looks at the tables with a handle and statements of its own, after every step that wrote. */
export class Inspector {
  readonly #db: DatabaseSync;
  readonly #model: Model;
  readonly #retentionMs: number;
  readonly #version: StatementSync;
  readonly #events: StatementSync;
  readonly #open: StatementSync;
  readonly #all: StatementSync;
  readonly #count: StatementSync;
  readonly #stats: StatementSync;
  readonly #slots: StatementSync;
  readonly #signals: StatementSync;
  readonly #journal: StatementSync;
  readonly #lines: StatementSync;
  readonly #budgets: StatementSync;
  readonly #allowances: StatementSync;
  /** Slot → what it had at the last look. */
  readonly #active = new Map<number, number>();
  #seen = -1;
  #looks = 0;
  #pruned = 0;
  #lastRow = 0;

  constructor(url: string, model: Model, retentionMs: number) {
    this.#db = new DatabaseSync(url);
    this.#model = model;
    this.#retentionMs = retentionMs;
    this.#version = this.#db.prepare('PRAGMA data_version');
    this.#events = this.#db.prepare('SELECT seq, n, kind, state, ids, attempts FROM event WHERE seq > ? ORDER BY seq');
    const tasks = `SELECT t.id, t.state, t.attempt, t.tries, t.max_tries, t.holder, t.lease_until, t.run_at,
      t.ended_at, t.open, l.queue, t.parent, t.root FROM task t JOIN lane l ON l.id = t.lane`;
    this.#all = this.#db.prepare(tasks);
    this.#open = this.#db.prepare(`${tasks} WHERE t.state < 4`);
    this.#count = this.#db.prepare('SELECT count(*) AS n FROM task');
    this.#stats = this.#db.prepare('SELECT * FROM qstat');
    this.#journal = this.#db.prepare('SELECT task, key, kind, attempt, ref, value FROM journal');
    this.#budgets = this.#db.prepare('SELECT root, unit, hard, taken FROM budget');
    this.#allowances = this.#db.prepare('SELECT task, unit, root, granted, spent, reserved FROM allowance');
    this.#lines = this.#db.prepare('SELECT count(*) AS n FROM log');
    this.#signals = this.#db.prepare('SELECT channel, body FROM signal ORDER BY id');
    this.#slots =
      this.#db.prepare(`SELECT s.id, s.key, s.cap, s.active, coalesce((SELECT sum(ls.weight) FROM lane_slot ls
      JOIN task t ON t.lane = ls.lane WHERE ls.slot = s.id AND t.state = 1), 0) AS counted FROM slot s`);
  }

  /** Returns how many tasks were pruned since the last look. */
  look(): number {
    const { data_version: version } = this.#version.get() as { data_version: number };
    if (version === this.#seen) return 0;
    this.#seen = version;
    this.#feed();
    const open = this.#open.all() as unknown as TaskRow[];
    for (const row of open) this.#row(row);
    this.#counters(open);
    this.#limits();
    this.#kept();
    this.#spending();
    const { n } = this.#count.get() as { n: number };
    const { size } = this.#model.tasks;
    const sound = open.length === this.#model.unfinished().length && n === size - this.#pruned;
    return sound && ++this.#looks % WHOLE_LOOK > 0 ? 0 : this.lookAtAll();
  }

  /** Those too that have ended. Returns how many were pruned. */
  lookAtAll(): number {
    const rows = this.#all.all() as unknown as TaskRow[];
    for (const row of rows) this.#row(row);
    const gone = this.#gone(rows);
    this.#pruned += gone;
    this.#entries();
    return gone;
  }

  close(): void {
    this.#db.close();
  }

  #feed(): void {
    const rows = this.#events.all(this.#lastRow) as unknown as {
      seq: number;
      n: number;
      kind: number;
      state: number;
      ids: string;
      attempts: string;
    }[];
    for (const row of rows) {
      const ids = JSON.parse(row.ids) as number[];
      const attempts = JSON.parse(row.attempts) as number[];
      must(
        ids.length === row.n && (attempts.length === row.n || attempts.length === 1),
        'I18',
        () => `event row ${row.seq} does not hold ${row.n}`,
      );
      for (const [i, task] of ids.entries()) {
        if (row.kind >= WORKER_KIND) {
          this.#model.sawWorker(row.seq + i);
          continue;
        }
        this.#model.saw({
          seq: row.seq + i,
          kind: CHANGES[row.kind] as Change,
          state: STATES[row.state] as TaskState,
          task,
          attempt: (attempts[i] ?? attempts[0]) as number,
        });
      }
      this.#lastRow = row.seq;
    }
  }

  #row(row: TaskRow): void {
    const known = this.#model.tasks.get(row.id);
    must(known !== undefined, 'I6', () => `the table has task ${row.id}, which nobody pushed`);
    const state = STATES[row.state] as TaskState;
    const is = (): string => `task ${row.id} is ${JSON.stringify(row)}, expected ${JSON.stringify(known)}`;
    must(state === known.state && row.attempt === known.attempt, 'I18', is);
    must(row.tries === known.tries && row.tries <= row.max_tries, 'I4', is);
    must((row.lease_until !== null) === (state === 'running'), 'I1', is);
    must(state !== 'running' || row.holder !== null, 'I1', is);
    // Who waits holds nothing, and knows how many ends it waits for.
    must(state !== 'waiting' || row.holder === null, 'I1', is);
    must(state !== 'waiting' || row.open === known.due, 'deps', is);
    // Of a ready task it says since when that is so.
    must(state !== 'scheduled' || row.run_at !== null, 'I17', is);
    must((row.ended_at !== null) === row.state >= 4, 'I3', is);
    must(row.parent === (known.parent ?? null) && row.root === (known.root ?? null), 'tree', is);
  }

  /** What a slot has is what runs, and no grant took it above its cap. */
  #limits(): void {
    for (const slot of this.#slots.all() as unknown as SlotRow[]) {
      const is = (): string => `slot ${slot.id} is ${JSON.stringify(slot)}`;
      must(slot.active === slot.counted, 'I8', is);
      const grew = slot.active > (this.#active.get(slot.id) ?? 0);
      must(!grew || slot.cap === null || slot.active <= slot.cap, 'I7', is);
      if (slot.cap !== null && slot.active > slot.cap) this.#model.gates.reach('limit lowered below what runs');
      if (slot.cap !== null && slot.active > 0 && slot.active === slot.cap) this.#model.gates.reach('limit full');
      this.#active.set(slot.id, slot.active);
    }
  }

  /** Signals that nobody has taken are there, in the order in which they came. */
  #kept(): void {
    this.#model.waits.look(this.#signals.all() as unknown as { channel: string; body: string }[]);
  }

  #spending(): void {
    const budgets = this.#budgets.all() as unknown as (Omit<BudgetRow, 'unit'> & {
      unit: number;
      hard: number | null;
    })[];
    if (budgets.length === 0) return;
    const allowances = this.#allowances.all() as unknown as (Omit<AllowanceRow, 'unit'> & { unit: number })[];
    this.#model.budgets.look(
      budgets.map((row) => ({ ...row, unit: unitOf(row.unit), hard: row.hard ?? undefined })),
      allowances.map((row) => ({ ...row, unit: unitOf(row.unit) })),
    );
  }

  /** Whatever turns have done is in the journals of their tasks, and nothing else is. */
  #entries(): void {
    const rows = (this.#journal.all() as unknown as EntryRow[]).map(({ kind, ref, value, ...row }) => {
      return { ...row, kind: ENTRY_KINDS[kind] as EntryKind, ref: ref ?? undefined, value: value ?? undefined };
    });
    const journals = Map.groupBy(rows, ({ task }) => task);
    const { journal } = this.#model;
    for (const task of new Set([...journals.keys(), ...journal.writers()])) {
      journal.compare(task, journals.get(task) ?? [], 'has written');
    }
    const { n } = this.#lines.get() as { n: number };
    must(n === journal.countLines(), 'I2', () => `there are ${n} lines of logs, of ${journal.countLines()}`);
  }

  #counters(rows: readonly TaskRow[]): void {
    const counted = new Map<string, number>();
    for (const row of rows) {
      const key = `${row.queue} ${STATES[row.state]}`;
      counted.set(key, (counted.get(key) ?? 0) + 1);
    }
    for (const stat of this.#stats.all() as unknown as (Record<string, number> & { queue: number })[]) {
      for (const state of ['ready', 'running', 'scheduled', 'waiting'] as const) {
        const n = counted.get(`${stat.queue} ${state}`) ?? 0;
        must(stat[state] === n, 'stats', () => `queue ${stat.queue} counts ${stat[state]} ${state}, there are ${n}`);
      }
    }
  }

  #gone(rows: readonly TaskRow[]): number {
    if (rows.length === this.#model.tasks.size) return 0;
    const there = new Set(rows.map(({ id }) => id));
    let pruned = 0;
    for (const task of this.#model.tasks.keys()) {
      if (there.has(task) || this.#model.board.isPruned(task)) continue;
      this.#model.pruned(task, this.#retentionMs);
      pruned++;
    }
    // The root of a tree goes last.
    for (const { id, root } of rows) {
      must(root === null || there.has(root), 'tree', () => `the root ${root} of ${id} is gone`);
    }
    return pruned;
  }
}
