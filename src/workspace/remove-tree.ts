import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Removes a folder that others have worked in: they may have taken away the right to write in it. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    // Links are not followed by -R.
    await promisify(execFile)('/bin/chmod', ['-R', 'u+rwX', '--', folder], { env: {} }).catch(() => {});
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
