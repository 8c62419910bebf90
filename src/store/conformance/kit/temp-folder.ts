import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** A file system in memory, on Linux. No test depends on the disk, so its speed need not either. */
const IN_MEMORY = '/dev/shm';

/** A folder for the tests of one file, removed after the last of them. */
export function tempFolder(name: string): string {
  const folder = mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), `leasehold-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
