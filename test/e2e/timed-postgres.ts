/** A Postgres whose clock a test can set, by libfaketime. Its processes see the time of the host, plus what a file says. */
import { chmodSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';

export interface TimedServer extends PostgresServer {
  /** Sets its clock to that of the host, plus these seconds. */
  readonly setClock: (aheadSeconds: number) => void;
}

/** Where Debian, Fedora and Homebrew put it. */
const PLACES = [
  '/usr/lib/*/faketime/libfaketime.so.1',
  '/usr/lib*/faketime/libfaketime.so.1',
  '/usr/local/lib/faketime/libfaketime.so.1',
];

export function findFaketime(): string | undefined {
  return process.platform === 'linux' ? globSync(PLACES)[0] : undefined;
}

export async function startTimedPostgres(): Promise<TimedServer> {
  const library = findFaketime();
  if (library === undefined) throw new Error('there is no libfaketime');
  const folder = mkdtempSync(join(tmpdir(), 'lh-time-'));
  chmodSync(folder, 0o755);
  const file = join(folder, 'ahead');
  const setClock = (aheadSeconds: number): void => {
    // In one step: a server that reads half a number would see another time.
    writeFileSync(`${file}.new`, `${aheadSeconds < 0 ? '' : '+'}${aheadSeconds}\n`);
    renameSync(`${file}.new`, file);
  };
  setClock(0);
  const server = await startPostgres({
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  });
  return {
    url: (database) => server.url(database),
    pid: server.pid,
    folder: server.folder,
    restart: () => server.restart(),
    down: () => server.down(),
    up: () => server.up(),
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
    setClock,
  };
}
