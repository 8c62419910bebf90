import { randomUUID } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes a line that only this user may read, unless the file is there. When two processes start at once, one writes its own
 * and the other finds it. The file appears under its name only with its content: neither the other process nor the next start
 * after a crash reads an empty one. False: it was there.
 */
export function writeOnce(file: string, line: string): boolean {
  const temporary = `${file}.${randomUUID()}`;
  try {
    writeFileSync(temporary, `${line}\n`, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(temporary, { force: true });
  }
}
