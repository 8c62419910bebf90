/** What a user calls, on the built package, with every peer and both floors in the same run. */
import type { Contender } from '../contenders/contender.ts';
import { LIBRARY } from '../contenders/library.ts';
import * as onPostgres from '../contenders/postgres/index.ts';
import * as onSqlite from '../contenders/sqlite/index.ts';
import { openFiles } from '../ground/files.ts';
import { openServer } from '../ground/server.ts';
import { backlog } from '../measures/backlog.ts';
import { ENGINE } from '../targets/target.ts';
import { userOnPostgres, userOnSqlite } from '../targets/user.ts';
import { costs } from '../user/costs.ts';
import { drain } from '../user/drain.ts';
import { latency } from '../user/latency.ts';
import { push } from '../user/push.ts';
import { scheduling } from '../user/scheduling.ts';
import { start } from '../user/start.ts';
import { work } from '../user/work.ts';
import type { Suite } from './suite.ts';

/** On Postgres. More takes minutes and tells the same: five rounds with ten contenders are many. */
const MOST_TASKS = 30_000;
/** Of interest to the engine only. */
const NORMAL = 'floor batch NORMAL';

/** `dist`: the built package. */
export function userSuite(store: string, dist: string): Suite {
  if (store !== 'sqlite' && store !== 'postgres')
    throw new Error(`--store: no "${store}"; there are: sqlite, postgres`);
  return store === 'sqlite' ? sqlite(dist) : postgres(dist);
}

function sqlite(dist: string): Suite {
  const { contenders, REFERENCE, SINGLE, url, variants } = onSqlite;
  return {
    store: 'sqlite',
    dist,
    title: "The user's path on SQLite",
    contenders: contenders.filter(({ name }) => name !== ENGINE && name !== NORMAL),
    reference: REFERENCE,
    measures: [
      drain({ server: false }),
      push([LIBRARY, SINGLE, REFERENCE]),
      latency,
      costs(dist, url),
      start(dist, url),
      work(SINGLE),
      scheduling(variants),
      backlog([LIBRARY]),
    ],
    targets: userOnSqlite,
    open: openFiles,
  };
}

function postgres(dist: string): Suite {
  const { contenders, FLOOR, REFERENCE, url, variants } = onPostgres;
  const smaller = (contender: Contender): Contender => ({
    ...contender,
    drainTasks: Math.min(contender.drainTasks, MOST_TASKS),
  });
  return {
    store: 'postgres',
    dist,
    title: "The user's path on Postgres",
    contenders: contenders.filter(({ name }) => name !== ENGINE).map(smaller),
    reference: REFERENCE,
    measures: [
      drain({ server: true }),
      push([LIBRARY, FLOOR, REFERENCE]),
      latency,
      costs(dist, url),
      start(dist, url),
      scheduling(variants),
      backlog([LIBRARY]),
    ],
    targets: userOnPostgres,
    open: openServer,
  };
}
