import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Makes the workspace of a run, with a folder for this attempt; answers its path. What is there stays. */
export async function makeWorkspace(workspace: string, attempt: number): Promise<string> {
  const folder = join(workspace, 'attempts', String(attempt).padStart(3, '0'));
  await mkdir(folder, { recursive: true });
  return folder;
}
