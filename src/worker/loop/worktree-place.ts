/** Where the worktree of a run lies below a root of the worker. Real paths are compared: no link leads out. */
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fault } from '../../core/errors.ts';
import { placeOf } from '../../flow/loop/worktree-state.ts';
import { workspaceFolder } from '../../workspace/shared-folder.ts';
import type { LoopHost } from './loop-host.ts';

/** All folders above it are made. A link in its place is refused. */
export async function placeBelow(host: Pick<LoopHost, 'roots'>, path: string): Promise<string> {
  const place = placeOf(path);
  const last = place?.below.at(-1);
  if (place === undefined || last === undefined)
    throw refuse(`${JSON.stringify(path.slice(0, 80))} is no folder below a root`);
  const base = await workspaceFolder(host, place.root);
  let folder = base;
  for (const part of place.below.slice(0, -1)) {
    const next = join(folder, part);
    await mkdir(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    folder = await realpath(next);
    if (!folder.startsWith(base.endsWith(sep) ? base : base + sep))
      throw refuse(`"${part}" leads out of the root "${place.root}"`);
  }
  const found = join(folder, last);
  if ((await lstat(found).catch(() => undefined))?.isSymbolicLink() === true) throw refuse(`"${last}" is a link`);
  return found;
}

const refuse = (problem: string): Error => fault('INVALID_INPUT', { field: 'worktree_path_template', problem });
