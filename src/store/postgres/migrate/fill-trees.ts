import { kindCode, TREE } from '../../codes.ts';
import { numbers, texts } from '../arrays.ts';
import type { Connection } from '../connect/connection.ts';

/** Work of a migration besides its statements, while other processes use the store. */
export type Fill = (params: {
  readonly connection: Connection;
  /** Quoted. */
  readonly schema: string;
  /** Runs a statement outside of a transaction. */
  readonly alone: (statement: string) => Promise<void>;
  /** Runs a transaction, and tries it again if it does not get its locks at once. */
  readonly brief: <T>(work: () => Promise<T>) => Promise<T>;
}) => Promise<void>;

type Params = Parameters<Fill>[0];

/** Entries handled by one transaction. */
const PAGE = 1000;
/** A child moves between the two tables when it ends or is revived. More often than this means that something is wrong. */
const LOOKS = 10;
const [ELEMENT, MARK, WAIT, CHILD] = [kindCode('element'), kindCode('mark'), kindCode('wait'), kindCode('child')];

/**
 * Makes the indexes of the days, and fills in the parents and roots of tasks from a time when only their parents'
 * checkpoints named them.
 */
export async function fillTrees(params: Params): Promise<void> {
  await indexDays(params);
  let after: Place | undefined = { task: 0, key: '' };
  while (after !== undefined) {
    const from: Place = after;
    after = await params.brief(() => fillPage(params, from));
  }
}

/** Days that are made meanwhile have the index from their first row on. */
async function indexDays({ connection, schema, alone, brief }: Params): Promise<void> {
  const rows = await connection.all<{ name: string }>(
    undefined,
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = '${schema}.done'::regclass AND NOT EXISTS (SELECT FROM pg_index x JOIN pg_inherits h
        ON h.inhrelid = x.indexrelid WHERE x.indrelid = c.oid AND h.inhparent = '${schema}.done_root'::regclass)`,
    [],
  );
  for (const { name } of rows) {
    const index = `${name}_root_id_idx`;
    await alone(
      `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${index} ON ${schema}.${name} (root, id) WHERE root IS NOT NULL`,
    );
    await brief(() => connection.raw(`ALTER INDEX ${schema}.done_root ATTACH PARTITION ${schema}.${index}`));
  }
}

interface Place {
  readonly task: number;
  readonly key: string;
}

interface Entry extends Place {
  readonly kind: number;
  readonly child: number | null;
}

/** Says where the next page begins. */
async function fillPage(params: Params, after: Place): Promise<Place | undefined> {
  const { connection, schema } = params;
  const rows = await connection.all<Entry>(
    undefined,
    // A child is younger than its parent, which rules out circles.
    `SELECT task, key, kind, CASE WHEN n > task THEN n END AS child FROM (SELECT task, key, kind, CASE WHEN kind = ${CHILD} THEN ref
        WHEN key >= 'spawn:' AND key < 'spawn;' THEN substring(${schema}.json_part(value, 'task') FROM '^[0-9]{1,15}$')::bigint END AS n
      FROM ${schema}.journal WHERE (task, key) > ($1, $2) ORDER BY task, key LIMIT ${PAGE}) x`,
    [after.task, after.key],
  );
  const births = rows.flatMap(({ task, key, child }) => (child === null ? [] : [{ task, key, child }]));
  if (births.length > 0) await fillParents(params, births);
  const changed = rows.flatMap(({ task, key, kind, child }) => {
    const is = child === null ? kindOf(key) : CHILD;
    return kind === 0 && is !== 0 && is !== CHILD ? [{ task, key, is }] : [];
  });
  if (changed.length > 0) {
    await connection.all(
      undefined,
      `UPDATE ${schema}.journal j SET kind = x.kind FROM unnest($1::bigint[], $2::text[], $3::smallint[]) x(task, key, kind)
        WHERE j.task = x.task AND j.key = x.key`,
      [
        numbers(changed.map(({ task }) => task)),
        texts(changed.map(({ key }) => key)),
        numbers(changed.map(({ is }) => is)),
      ],
    );
  }
  return rows.length < PAGE ? undefined : rows.at(-1);
}

function kindOf(key: string): number {
  if (key.startsWith('wait:')) return WAIT;
  if (key.endsWith('!')) return MARK;
  return /\[\d+\]$/.test(key) ? ELEMENT : 0;
}

interface TreeRow {
  readonly id: number;
  readonly created_at: number;
  readonly parent: number | null;
  readonly root: number | null;
  readonly flags: number;
}

interface Birth extends Place {
  readonly child: number;
}

interface Found {
  readonly id: number;
  readonly parent: number;
  readonly root: number;
}

/**
 * Entries come in the order of the parent's number, which is smaller than that of its child: the root of a parent is
 * known before its children come. If several entries name one child, the smallest parent comes first.
 */
async function fillParents({ connection, schema }: Params, births: readonly Birth[]): Promise<void> {
  const ids = numbers([...new Set(births.flatMap(({ task, child }) => [task, child]))].sort((a, b) => a - b));
  let born = new Map<number, number>();
  for (let look = 0; look < LOOKS; look++) {
    const rows = await connection.all<TreeRow>(undefined, bothTables(schema), [ids]);
    const known = new Map(rows.map((row) => [row.id, row]));
    born = new Map(rows.map(({ id, created_at: at }) => [id, at]));
    const found = missingParents(births, known);
    const roots = bareRoots(found, births, known);
    if (found.length === 0 && roots.length === 0) break;
    const values = [
      numbers(found.map(({ id }) => id)),
      numbers(found.map(({ parent }) => parent)),
      numbers(found.map(({ root }) => root)),
    ];
    for (const table of ['task', 'done']) {
      const own = `${schema}.${table}`;
      const flag = `UPDATE ${own} SET flags = flags | ${TREE} WHERE id = ANY($1::bigint[])`;
      await connection.all(undefined, flag, [numbers(roots)]);
      await connection.all(
        undefined,
        `UPDATE ${own} t SET parent = x.parent, root = x.root FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
          x(id, parent, root) WHERE t.id = x.id AND t.parent IS NULL`,
        values,
      );
    }
  }
  await connection.all(
    undefined,
    `UPDATE ${schema}.journal j SET kind = ${CHILD}, ref = x.child, value = x.born
      FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) x(task, key, child, born)
      WHERE j.task = x.task AND j.key = x.key AND j.kind <> ${CHILD}`,
    [
      numbers(births.map(({ task }) => task)),
      texts(births.map(({ key }) => key)),
      numbers(births.map(({ child }) => child)),
      texts(births.map(({ child }) => String(born.get(child) ?? 0))),
    ],
  );
}

/** The parent and root of children that have none yet. */
function missingParents(births: readonly Birth[], known: ReadonlyMap<number, TreeRow>): readonly Found[] {
  const found = new Map<number, Found>();
  for (const { task, child } of births) {
    if (known.get(child)?.parent !== null || found.has(child) || !known.has(task)) continue;
    const root = found.get(task)?.root ?? known.get(task)?.root ?? task;
    found.set(child, { id: child, parent: task, root });
  }
  return [...found.values()].sort((a, b) => a.id - b.id);
}

/** Roots without the flag for it. A parent that has a root itself was added to that tree when it was a child. */
function bareRoots(found: readonly Found[], births: readonly Birth[], known: ReadonlyMap<number, TreeRow>) {
  const parents = new Map(found.map(({ id, parent }) => [id, parent]));
  const bare = births.filter(({ task, child }) => {
    const { root, flags = TREE } = known.get(task) ?? {};
    const mine = (parents.get(child) ?? known.get(child)?.parent) === task;
    return mine && root === null && (flags & TREE) === 0 && !parents.has(task);
  });
  return [...new Set(bare.map(({ task }) => task))].sort((a, b) => a - b);
}

function bothTables(schema: string): string {
  const of = (table: string): string =>
    `SELECT id, created_at, parent, root, flags FROM ${schema}.${table} WHERE id = ANY($1::bigint[])`;
  return `${of('task')} UNION ALL ${of('done')}`;
}
