/** Counts what the main thread of this process gives its drivers. */
import { createRequire } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';

export interface StatementCount {
  statements: number;
  /** Of SQLite; Postgres counts its own. */
  commits: number;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** From now on; a connection that is open already counts too. `library`: the file whose driver it is, which is not that of the peers. */
export function countStatements(library: string): StatementCount {
  const { Client } = createRequire(library)('pg') as typeof import('pg');
  const count: StatementCount = { statements: 0, commits: 0 };
  const note = (sql: unknown): void => {
    count.statements++;
    if (typeof sql === 'string' && sql.startsWith('COMMIT')) count.commits++;
  };
  const wrap = (prototype: object, name: string, sqlOf: (self: unknown, args: readonly unknown[]) => unknown): void => {
    const methods = prototype as Record<string, Method>;
    const inner = methods[name] as Method;
    methods[name] = function (this: unknown, ...args: unknown[]) {
      note(sqlOf(this, args));
      return inner.apply(this, args);
    };
  };
  for (const name of ['run', 'get', 'all', 'iterate'])
    wrap(StatementSync.prototype, name, (self) => (self as StatementSync).sourceSQL);
  wrap(DatabaseSync.prototype, 'exec', (_, [sql]) => sql);
  wrap(Client.prototype, 'query', () => undefined);
  return count;
}
