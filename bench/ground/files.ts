/** SQLite: each place is a file. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ground } from './ground.ts';

export async function openFiles(): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-bench-'));
  return {
    version: `SQLite ${process.versions['sqlite'] ?? 'unknown'}`,
    folder,
    create: async (name, like) => {
      const file = join(folder, `${name}.db`);
      if (like !== undefined) copyFileSync(like, file);
      return file;
    },
    remove: async (place) => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(place + suffix, { force: true });
    },
    analyze: async () => {},
    vacuum: async () => {},
    serverMicros: () => 0,
    holdSnapshot: () => Promise.reject(new Error('snapshots are measured on a server only')),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
