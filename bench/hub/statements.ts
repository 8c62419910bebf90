/** Counts what this process asks of its store, by the names that the statements have in `src/store`. */
import { createRequire } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { STATEMENTS } from '../../src/store/sqlite/statements.ts';

export type Counts = Readonly<Record<string, number>>;

const STORE = new URL('../../src/store/postgres/connect/connection.ts', import.meta.url);
const MAX_NAME = 40;

/** Every statement of every connection in this thread, transactions included, from now on. */
export function countStatements(): () => Counts {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  onSqlite(count);
  onPostgres(count);
  return () => Object.fromEntries(counts);
}

// oxlint-disable-next-line typescript/no-explicit-any -- methods of others, whatever they take
type Methods = Record<string, (this: any, ...args: any[]) => unknown>;

function before(target: object, method: string, seen: (self: unknown, args: readonly unknown[]) => void): void {
  const methods = target as Methods;
  const original = methods[method] as Methods[string];
  methods[method] = function counted(...args) {
    seen(this, args);
    return original.apply(this, args);
  };
}

function onSqlite(count: (name: string) => void): void {
  const names = new Map(Object.entries(STATEMENTS).map(([name, text]) => [text as string, name]));
  // A statement's text is a getter that makes it anew each time.
  const known = new WeakMap<object, string>();
  const nameOf = (statement: StatementSync): string => {
    const found = known.get(statement) ?? names.get(statement.sourceSQL) ?? shortened(statement.sourceSQL);
    known.set(statement, found);
    return found;
  };
  for (const method of ['run', 'get', 'all', 'iterate']) {
    before(StatementSync.prototype, method, (self) => count(nameOf(self as StatementSync)));
  }
  before(DatabaseSync.prototype, 'exec', (_self, [text]) => count(shortened(String(text))));
}

function onPostgres(count: (name: string) => void): void {
  // The driver of the store: the bench has one of its own, for peers.
  const pg = createRequire(STORE)('pg') as { readonly Client: { readonly prototype: object } };
  before(pg.Client.prototype, 'query', (_self, [asked]) => {
    const { name, text } = typeof asked === 'string' ? { name: undefined, text: asked } : (asked as Asked);
    // Prepared ones have a hash of their text behind their name.
    count(name?.replace(/_[0-9a-f]{16}$/, '') ?? shortened(text));
  });
}

interface Asked {
  readonly name?: string;
  readonly text: string;
}

function shortened(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_NAME);
}
