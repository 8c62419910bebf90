import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fault } from '../../core/errors.ts';
import { STATES, type TaskState } from '../../core/task/task.ts';
import type { MovedIn } from '../../store/postgres/migrate/move-in.ts';
import { TRANSFERS } from '../../store/postgres/migrate/move-in-tables.ts';
import { MoveOut, type Rows, rehearse } from '../../store/sqlite/upkeep/move-out.ts';
import { fileOf } from '../operate.ts';
import { isPostgres, withoutPassword } from '../store-name.ts';
import { realWorld } from '../world.ts';

/** What a store has to move, or has moved. */
export interface MoveView {
  readonly from: string;
  /** Without the password. */
  readonly to: string;
  readonly tasks: Readonly<Record<TaskState, number>>;
  /** Rows of the other tables. */
  readonly rows: Readonly<Record<string, number>>;
}

export interface MoveOptions {
  readonly onMoved?: (rows: { readonly done: number; readonly total: number }) => void;
  readonly signal?: AbortSignal;
}

/** The move of everything in a SQLite store to Postgres. The only way back is a backup. */
export interface StoreMove {
  readonly view: MoveView;
  /** Refuses a target that is not empty, or a store that this program cannot move. Changes nothing. */
  rehearse(): Promise<void>;
  run(options: MoveOptions): Promise<MovedIn>;
}

export function moveBetween(from: string, to: string): StoreMove {
  if (!/^sqlite:./.test(from)) {
    throw wrong('--from', 'only a SQLite store can be moved', 'Give sqlite:PATH, such as sqlite:./work.db.');
  }
  if (!isPostgres(to)) {
    throw wrong('--to', 'a store can be moved to Postgres only', 'Give postgres://USER@HOST/DATABASE.');
  }
  const file = resolve(fileOf(from));
  if (!existsSync(file))
    throw fault('NOT_FOUND', { kind: 'store', id: file }, { hint: 'Check the path after --from.' });
  const address = withoutPassword(to);
  const world = realWorld();
  return {
    // Counted while others use the store: a rehearsal stops nobody. A move that was begun before is counted when it continues.
    get view() {
      return { from: file, to: address, ...rehearse(file, address, count) };
    },
    async rehearse() {
      const { rehearseMoveIn } = await import('../../store/postgres/migrate/move-in.ts');
      await rehearseMoveIn(to, world);
    },
    async run(options) {
      const { moveIn } = await import('../../store/postgres/migrate/move-in.ts');
      return moveIn({ ...options, url: to, world, begin: () => MoveOut.begin(file, address, world.clock) });
    },
  };
}

/** Tasks are shown by state. Counters and holders are made anew from them. */
const NOT_TOLD: readonly string[] = ['task', 'done', 'duty', 'qstat'];
const OTHERS = TRANSFERS.map(({ table }) => table).filter((table) => !NOT_TOLD.includes(table));

function count(rows: Rows): Pick<MoveView, 'tasks' | 'rows'> {
  const there = new Set([...rows.iterate('SELECT name FROM sqlite_schema')].map(([name]) => name));
  // Lane 0 has a placeholder row that a restore leaves; it is not a task.
  const states = new Map(
    [...rows.iterate('SELECT state, count(*) FROM task WHERE lane > 0 GROUP BY state')].map(([state, n]) => [state, n]),
  );
  const one = (table: string): number => {
    for (const [n] of rows.iterate(`SELECT count(*) FROM ${table}`)) return Number(n);
    return 0;
  };
  return {
    tasks: Object.fromEntries(STATES.map((state, i) => [state, Number(states.get(i) ?? 0)])) as MoveView['tasks'],
    rows: Object.fromEntries(OTHERS.map((table) => [table, there.has(table) ? one(table) : 0])),
  };
}

function wrong(field: string, problem: string, hint: string): Error {
  return fault('INVALID_INPUT', { field, problem }, { hint });
}
