/** What a file imports when it runs, itself or by what it imports: read from the text, types left out. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const IMPORT = /^(?:import|export)\s+(?!type\s)(?:[^'";]*?from\s*)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/gm;

export interface Imports {
  /** Paths as they are on the disk. */
  readonly files: ReadonlySet<string>;
  readonly modules: ReadonlySet<string>;
}

export function importsOf(file: string): Imports {
  const files = new Set<string>();
  const modules = new Set<string>();
  const follow = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    const direct = directImports(path);
    for (const to of direct.files) follow(to);
    for (const to of direct.modules) modules.add(to);
  };
  follow(file);
  return { files, modules };
}

const known = new Map<string, { readonly files: readonly string[]; readonly modules: readonly string[] }>();

function directImports(path: string): { readonly files: readonly string[]; readonly modules: readonly string[] } {
  const before = known.get(path);
  if (before !== undefined) return before;
  const found = [...readFileSync(path, 'utf8').matchAll(IMPORT)].map(([, from, later]) => (from ?? later) as string);
  const local = found.filter((to) => to.startsWith('.')).map((to) => join(dirname(path), to));
  const direct = { files: local.filter((to) => existsSync(to)), modules: found.filter((to) => !to.startsWith('.')) };
  known.set(path, direct);
  return direct;
}
