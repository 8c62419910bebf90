import pg from 'pg';
import {
  feedMisfits,
  OF_WORKERS,
  type SeenEvents,
  type SeenTask,
  type Snapshot,
  STATES,
  WORDS,
  type Word,
} from './look.ts';
import {
  EDGES,
  type SeenEdge,
  type SeenSlot,
  type SeenUse,
  SLOTS,
  scheduleMisfits,
  slotFaults,
  USES,
} from './look-schedule.ts';

const SCHEMA = 'leasehold';

type Row = Readonly<Record<string, unknown>>;

/** What a database holds, read with plain SQL and none of the store's code; it stands still while it is looked at. */
export async function lookAtPostgres(url: string): Promise<Snapshot> {
  return asked(url, async (ask) => {
    const kept = 'id, state, attempt::int AS attempt, tries, max_tries, payload, lane';
    const rows = await ask(`SELECT ${kept}, NULL AS result FROM task UNION ALL SELECT ${kept}, result FROM done`);
    const tasks = rows.map((row): SeenTask => {
      return {
        id: Number(row['id']),
        state: STATES[row['state'] as number] as SeenTask['state'],
        attempt: row['attempt'] as number,
        tries: row['tries'] as number,
        maxTries: row['max_tries'] as number,
        payload: row['payload'] as string | null,
        result: row['result'] as string | null,
      };
    });
    const [duties] = await ask('SELECT coalesce(sum(epoch - 1), 0)::int AS takeovers FROM duty');
    const events = await eventsOf(ask);
    const slots = (await ask(SLOTS)) as unknown as readonly SeenSlot[];
    const schedule = {
      slots,
      uses: (await ask(USES)) as unknown as readonly SeenUse[],
      edges: (await ask(EDGES)).map((row): SeenEdge => ({ up: Number(row['up']), down: Number(row['down']) })),
      laneOf: new Map(rows.map((row) => [Number(row['id']), row['lane'] as number])),
    };
    const words = (await ask(WORDS)) as unknown as readonly (Omit<Word, 'task'> & { readonly task: string })[];
    return {
      integrity: await integrity(ask),
      tasks,
      gaps: await gaps(ask),
      drift: [...(await drift(ask)), ...slotFaults(slots)],
      misfits: [...twice(tasks), ...feedMisfits(events, tasks), ...scheduleMisfits(events, schedule)],
      takeovers: duties?.['takeovers'] as number,
      words: words.map((word) => ({ ...word, task: Number(word.task) })),
    };
  });
}

/** Events that have no number yet. */
export function unnumbered(url: string): Promise<number> {
  return asked(url, async (ask) => {
    const [row] = await ask('SELECT count(*)::int AS n FROM outbox');
    return row?.['n'] as number;
  });
}

/** Looks at the counters of limits again and again, in a session that is opened anew when it breaks. */
export class SlotEye {
  readonly #url: string;
  #client: pg.Client | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** Nothing while the server is away. */
  async look(): Promise<readonly SeenSlot[]> {
    try {
      this.#client ??= await this.#open();
      return (await this.#client.query(SLOTS)).rows as SeenSlot[];
    } catch {
      await this.close();
      return [];
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  async #open(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url });
    client.on('error', () => {});
    await client.connect();
    await client.query(`SET search_path = ${SCHEMA}`);
    return client;
  }
}

type Ask = (text: string) => Promise<readonly Row[]>;

async function asked<T>(url: string, body: (ask: Ask) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`SET search_path = ${SCHEMA}, public`);
    return await body(async (text) => (await client.query(text)).rows as Row[]);
  } finally {
    await client.end();
  }
}

/** Every index against its table, where the server has the means. */
async function integrity(ask: Ask): Promise<string> {
  try {
    await ask('CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public');
  } catch {
    return 'ok'; // somebody else's server
  }
  try {
    await ask(`SELECT bt_index_check(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      JOIN pg_am a ON a.oid = c.relam WHERE c.relnamespace = '${SCHEMA}'::regnamespace AND c.relkind = 'i' AND a.amname = 'btree'`);
    return 'ok';
  } catch (error) {
    return (error as Error).message;
  }
}

async function gaps(ask: Ask): Promise<readonly string[]> {
  const found: string[] = [];
  const rows = await ask('SELECT seq::int, n, cardinality(ids) AS held FROM event ORDER BY seq');
  // Row 0 founds the feed and stands for no event; the pruner may have taken it.
  let next = (rows[0]?.['seq'] as number) <= 1 ? (rows[0]?.['seq'] as number) : 0;
  for (const row of rows) {
    const { seq, n, held } = row as { seq: number; n: number; held: number };
    if (seq !== next) found.push(`${next} is followed by ${seq}`);
    if (seq !== 0 && held !== n) found.push(`row ${seq} does not hold ${n}`);
    next = seq + n;
  }
  return found;
}

/** The counters, with what the events that have no number yet will add to them, against the rows. */
async function drift(ask: Ask): Promise<readonly string[]> {
  const sums = STATES.map((state) => `sum(${state})::int AS ${state}`).join(', ');
  const deltas = STATES.map((state) => `d_${state}`).join(', ');
  const kept = await ask(`SELECT queue, ${sums} FROM (SELECT queue, ${STATES.join(', ')} FROM qstat
    UNION ALL SELECT queue, ${deltas} FROM outbox) x GROUP BY queue`);
  const rows = await ask(`SELECT queue, state, count(*)::int AS n FROM (SELECT queue, state FROM task
    UNION ALL SELECT queue, state FROM done) x GROUP BY queue, state`);
  const counts = rows as readonly { readonly queue: number; readonly state: number; readonly n: number }[];
  const counted = new Map(counts.map(({ queue, state, n }) => [`${queue}/${state}`, n]));
  return (kept as readonly Readonly<Record<string, number>>[]).flatMap((row) =>
    STATES.flatMap((state, code) => {
      const count = counted.get(`${row['queue']}/${code}`) ?? 0;
      return row[state] === count ? [] : [`queue ${row['queue']}: ${state} ${row[state]}, counted ${count}`];
    }),
  );
}

function twice(tasks: readonly SeenTask[]): readonly string[] {
  const seen = new Set<number>();
  return tasks.flatMap(({ id }) => (seen.size === seen.add(id).size ? [`task ${id} is there twice`] : []));
}

async function eventsOf(ask: Ask): Promise<readonly SeenEvents[]> {
  const columns = 'at, kind, state, ids, attempts::int[] AS attempts';
  const rows = await ask(`SELECT ${columns} FROM (SELECT 0 AS late, seq AS place, ${columns} FROM event WHERE seq > 0
    UNION ALL SELECT 1, id, ${columns} FROM outbox) x WHERE kind < ${OF_WORKERS} ORDER BY late, place`);
  return rows.map(({ at, kind, state, ids, attempts }) => {
    return {
      at: Number(at),
      kind: kind as number,
      state: state as number,
      ids: (ids as string[]).map(Number),
      attempts: attempts as number[],
    };
  });
}
