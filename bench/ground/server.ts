/** Postgres: a server of this run with durable defaults; each place is a database of its own. */
import { Client } from 'pg';
import { startPostgres } from '../../test/support/postgres.ts';
import { treeMicros } from './cpu.ts';
import { database, query } from './databases.ts';
import type { Ground } from './ground.ts';

export async function openServer(): Promise<Ground> {
  const server = await startPostgres({ settings: { max_connections: '400' } }); // eight processes with the pool of a peer each
  const admin = server.url('postgres');
  const [row] = await query(admin, 'SHOW server_version');
  return {
    version: `Postgres ${String(row?.['server_version'])}, durable defaults`,
    folder: server.folder,
    async create(name, like) {
      const template = like === undefined ? '' : `TEMPLATE ${database(like)} STRATEGY FILE_COPY`;
      await query(admin, `CREATE DATABASE ${name} ${template}`);
      return server.url(name);
    },
    async remove(place) {
      // Those of the warm-ups go along: dropped earlier, each would force a checkpoint in the middle of a measure.
      const named = `'^${database(place)}(_warm_.*)?$'`;
      const rows = await query(admin, `SELECT datname FROM pg_database WHERE datname ~ ${named}`);
      for (const { datname } of rows) await query(admin, `DROP DATABASE ${String(datname)} WITH (FORCE)`);
    },
    analyze: async (place) => void (await query(place, 'ANALYZE')),
    vacuum: async (place) => void (await query(place, 'VACUUM (ANALYZE)')),
    serverMicros: () => treeMicros(server.pid),
    async holdSnapshot(place) {
      const client = new Client({ connectionString: place });
      await client.connect();
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await client.query('SELECT count(*) FROM pg_class');
      return () => client.end();
    },
    // The server ends with this process: its guard sees to it.
    close: () => {},
  };
}
