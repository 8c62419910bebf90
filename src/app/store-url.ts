import { fault } from '../core/errors.ts';
import type { World } from '../core/world.ts';
import type { Durability } from '../store/sqlite/file/connection.ts';
import type { Store } from '../store/store.ts';
import { withoutPassword } from './store-name.ts';

export interface StoreOptions {
  readonly world: World;
  /** SQLite: `full` (default) survives a power loss, `normal` survives kill -9. */
  readonly durability?: Durability;
  /** SQLite: a thread for checkpoints and recounts; short-lived processes do without. Default true. */
  readonly housekeeping?: boolean;
}

/** Opens the store that a URL names: `sqlite:PATH`, `postgres://…` or `memory:`. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
  const scheme = /^([a-z][a-z0-9+.-]*):/.exec(url)?.[1];
  switch (scheme ?? '') {
    case 'memory':
      return onFile(url, options);
    case 'sqlite': {
      const file = url.slice('sqlite:'.length);
      if (file === '') throw badUrl(url, 'it names no file');
      // `:memory:` and `memory:` are refused here: their user wants no file. A file of that name is written with ./ in front.
      if (/^:?memory:/.test(file)) throw badUrl(url, 'a store in memory is memory: or memory:NAME, without sqlite:');
      return onFile(file, options);
    }
    case 'postgres':
    case 'postgresql': {
      // Loaded on demand, like the other adapter: a program that works on a file does not pay for the driver.
      const { openPostgres } = await import('../store/postgres/open.ts');
      return openPostgres({ url, world: options.world });
    }
    default:
      throw badUrl(
        url,
        scheme === undefined ? 'it has no scheme' : `${scheme}: is not a store that this version knows`,
      );
  }
}

/** Loaded on demand: on Postgres it would be a quarter of the code that a worker process compiles. */
async function onFile(file: string, options: StoreOptions): Promise<Store> {
  const { openSqlite } = await import('../store/sqlite/open.ts');
  return openSqlite({ ...options, file });
}

function badUrl(url: string, problem: string): Error {
  return fault(
    'INVALID_INPUT',
    { field: 'store URL', problem: `${JSON.stringify(withoutPassword(url))}: ${problem}` },
    {
      hint: 'Give sqlite:PATH for a file, such as sqlite:./work.db, postgres://USER@HOST/DATABASE, or memory: for a store that is gone with the process.',
    },
  );
}
