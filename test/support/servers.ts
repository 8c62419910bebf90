/** Before and after a whole run of the tests: one Postgres for all files. */
import { type PostgresServer, startPostgres } from './postgres.ts';

let server: PostgresServer | undefined;

export async function globalSetup(): Promise<void> {
  if (process.env['LEASEHOLD_TEST_POSTGRES'] !== undefined) return;
  // Not durable: what is tested here is not the disk. Chaos tests start servers of their own.
  server = await startPostgres({ settings: { fsync: 'off', max_connections: '300' } });
  process.env['LEASEHOLD_TEST_POSTGRES'] = server.url('postgres');
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
}
