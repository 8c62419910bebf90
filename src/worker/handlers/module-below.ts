import { realpath, stat } from 'node:fs/promises';
import { extname, isAbsolute, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { failure } from './failure.ts';

const EXTENSIONS: ReadonlySet<string> = new Set(['.js', '.mjs', '.ts']);

/** The problem with the form of a path, wherever it leads; undefined: none. */
export function pathProblem(path: string): string | undefined {
  if (path === '' || path.includes('\0')) return 'is not a path';
  if (isAbsolute(path) || /^[A-Za-z][\w+.-]*:/.test(path)) return 'must be a path below the folder of modules';
  if (path.includes('\\')) return 'must have / between its parts';
  if (path.split('/').includes('..')) return 'must not contain ..';
  return undefined;
}

/**
 * The URL of a module below a folder. Real paths are compared, so that no link leads out of the folder. The URL changes with the
 * file, because Node caches an imported module under its URL for good.
 */
export async function moduleBelow(root: string, path: string): Promise<string> {
  const problem = pathProblem(path);
  if (problem !== undefined) throw failure('REFUSED', `The module ${problem}.`);
  const base = await realPath(root);
  if (base === undefined) throw failure('NO_FOLDER', 'This worker has no folder of modules where its settings say.');
  const file = await realPath(join(base, path));
  if (file === undefined) throw missing(path);
  if (!file.startsWith(base.endsWith(sep) ? base : base + sep)) {
    throw failure('REFUSED', `The module ${JSON.stringify(path)} lies outside of the folder of modules.`);
  }
  if (!EXTENSIONS.has(extname(file))) throw failure('REFUSED', 'A module is a .js, .mjs or .ts file.');
  const found = await stat(file, { bigint: true });
  if (!found.isFile()) throw missing(path);
  const url = pathToFileURL(file);
  url.search = `?v=${found.mtimeNs}-${found.size}-${found.ino}`;
  return url.href;
}

async function realPath(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}

function missing(path: string): Error {
  return failure('NO_MODULE', `There is no module ${JSON.stringify(path)} in the folder of modules.`);
}
