import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fault } from '../../../core/errors.ts';
import { existing } from '../file/connection.ts';
import {
  type Contents,
  type CopyWishes,
  checkCopy,
  copyDatabase,
  discard,
  explain,
  isTaken,
  publish,
  temporaryName,
} from './copy.ts';

export interface BackupOptions extends CopyWishes {
  readonly file: string;
  readonly to: string;
  /** Whether a file at `to` may be replaced. */
  readonly force: boolean;
}

/**
 * Copies a store that others work on. The copy gets its name only when it is complete, checked and on the disk. A
 * process that is killed meanwhile leaves a `.partial` file and nothing that looks like a backup. The store is not
 * migrated.
 */
export async function backupSqlite(options: BackupOptions): Promise<Contents> {
  const { file, to, force } = options;
  requirePlace(to, force);
  const temporary = temporaryName(to);
  discard(temporary);
  let from: DatabaseSync | undefined;
  try {
    from = new DatabaseSync(existing(file), { timeout: 5000 });
    from.exec('PRAGMA query_only = ON');
    await copyDatabase(from, temporary, options);
    const contents = checkCopy(temporary);
    options.signal?.throwIfAborted();
    publish(temporary, to, { replace: force });
    return contents;
  } catch (error) {
    if (error === options.signal?.reason) throw error;
    throw isTaken(error) ? taken(to) : explain(error, file);
  } finally {
    from?.close();
    discard(temporary);
  }
}

function requirePlace(to: string, force: boolean): void {
  const folder = dirname(to);
  if (!existsSync(folder)) throw fault('NOT_FOUND', { kind: 'folder', id: folder }, { hint: 'Make it first.' });
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw explain(error, folder);
  }
  const there = statSync(to, { throwIfNoEntry: false });
  if (there?.isDirectory())
    throw fault('INVALID_INPUT', { field: 'TO', problem: `${to} is a folder` }, { hint: 'Name a file in it.' });
  if (there !== undefined && !force) throw taken(to);
}

function taken(to: string): Error {
  return fault('CONFLICT', { problem: `${to} is there already` }, { hint: 'Choose another name, or say --force.' });
}
