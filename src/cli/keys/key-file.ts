import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { fault } from '../../core/errors.ts';

export function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw fault('INVALID_INPUT', { field: file, problem: `it cannot be read: ${(error as Error).message}` });
  }
}

/** Never over a file that is there: a lost key cannot be made again. */
export function writeKeyFile(file: string, text: string, mode: number): void {
  let handle: number;
  try {
    handle = openSync(file, 'wx', mode);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw fault('CONFLICT', { problem: isThere ? `there is a file ${file}` : (error as Error).message });
  }
  try {
    writeSync(handle, text);
  } finally {
    closeSync(handle);
  }
}
