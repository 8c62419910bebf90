/** Counts what this process asks of its store, by the names that the statements have in `src/store`. */
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { STATEMENTS } from '../../src/store/sqlite/statements.ts';

export type Counts = Readonly<Record<string, number>>;

const MAX_NAME = 40;

/** Every statement of every connection in this thread, transactions included, from now on. */
export async function countStatements(): Promise<() => Counts> {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  onSqlite(count);
  await onPostgres(count);
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

async function onPostgres(count: (name: string) => void): Promise<void> {
  const { default: pg } = await import('pg');
  before(pg.Client.prototype, 'query', (_self, [asked]) => {
    const { name, text } = typeof asked === 'string' ? { name: undefined, text: asked } : (asked as Asked);
    count(name ?? shortened(text));
  });
}

interface Asked {
  readonly name?: string;
  readonly text: string;
}

function shortened(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_NAME);
}
