import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type CallerHandle, storeContract } from '../../testing.ts';
import { tempFolder } from '../conformance/kit/temp-folder.ts';
import type { Store } from '../store.ts';
import { openSqlite } from './open.ts';

const folder = tempFolder('store');
const files = new WeakMap<Store, string>();
let opened = 0;

async function openFile(file: string, options: Omit<Parameters<typeof openSqlite>[0], 'file'>): Promise<Store> {
  const store = await openSqlite({ file, ...options });
  files.set(store, file);
  return store;
}

const fileOf = (store: Store): string => files.get(store) as string;

/** The caller's own handle on the same file. */
async function caller(store: Store): Promise<CallerHandle> {
  const db = new DatabaseSync(fileOf(store), { timeout: 0 });
  return {
    tx: db,
    begin: () => db.exec('BEGIN IMMEDIATE'),
    commit: () => db.exec('COMMIT'),
    rollback: () => db.exec('ROLLBACK'),
    close: () => db.close(),
  };
}

storeContract({
  name: 'memory',
  open: ({ world }) => openSqlite({ file: 'memory:', world }),
});

// The housekeeping thread takes 70 ms to start, so only the topics that it takes part in are run with it.
for (const housekeeping of [false, true]) {
  storeContract({
    name: housekeeping ? 'sqlite with its housekeeping thread' : 'sqlite',
    open: ({ world }) => openFile(join(folder, `${opened++}.db`), { world, housekeeping }),
    reopen: (store, { world }) => openFile(fileOf(store), { world, housekeeping }),
    caller,
    ...(housekeeping ? { topics: ['audit', 'duties', 'opening and closing'] } : {}),
  });
}
