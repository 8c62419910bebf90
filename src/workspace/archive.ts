import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fault } from '../core/errors.ts';
import { sizeOf } from './git/object-cache.ts';

const LONGEST_MS = 10 * 60_000;

/** The files of a folder as one compressed archive, without what git keeps. Links are stored as links: nothing behind them is read. */
export async function archiveFolder(
  folder: string,
  file: string,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<void> {
  if ((await sizeOf(folder)) > maxBytes) throw fault('TOO_LARGE', { field: 'archive of the workspace', maxBytes });
  const args = ['-czf', file, '--exclude=./.git', '-C', folder, '--', '.'];
  try {
    await promisify(execFile)('tar', args, {
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      timeout: LONGEST_MS,
      signal,
    });
  } catch (error) {
    throw fault('WORKSPACE_FAILED', { problem: 'its files could not be archived' }, { cause: error });
  }
}
