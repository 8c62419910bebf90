/** Bundles the sources for publication: `node build/bundle.ts [SOURCES] [DIST]`. */
import { copyFileSync, existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type OutputOptions, type Plugin } from 'rolldown';
import { chunkNames } from './chunks.ts';
import { entriesOf } from './entries.ts';
import { builtinsAsNeeded, oneByte, ownUrls, withoutFacades } from './rewrite.ts';

const ROOT = join(import.meta.dirname, '..');
/**
 * Taken into the bundle. zod without its forty languages: as a package it is 95 files, 16 MB and 70 ms of CPU in every node and joined
 * worker. yaml as a package is 70 files, a fifth of the time that a worker of FlatMachines takes to its first claim.
 */
const INSIDE: readonly string[] = ['zod', 'yaml'];

/** Writes the program into a folder: a few files, each loaded whole, and their source maps. `inside`: the packages that are taken in. */
export async function bundle(src: string, dist: string, inside: readonly string[] = INSIDE): Promise<void> {
  const { main, threads } = entriesOf(src);
  const name = chunkNames(src, main);
  const output = {
    dir: dist,
    chunkFileNames: 'chunks/[name].js',
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name, debugName: 'starts' }] },
  };
  await bundleOf(src, inputs(src, main), output, { inside });
  for (const name of inside)
    copyFileSync(licenceOf(name), join(dist, 'chunks', `${name.replaceAll('/', '-')}.LICENSE`));
  await bundleOf(src, inputs(src, threads), { dir: dist, chunkFileNames: 'threads/[name].js' }, { inside });
}

/** In the folder of its package, which is at or above that of its code; some only name theirs, in the file that describes them. */
function licenceOf(name: string): string {
  let folder = dirname(fileURLToPath(import.meta.resolve(name)));
  while (basename(dirname(folder)) !== 'node_modules' && !existsSync(join(folder, 'LICENSE'))) folder = dirname(folder);
  const [found] = ['LICENSE', 'LICENSE.md', 'package.json', '../package.json']
    .map((file) => join(folder, file))
    .filter(existsSync);
  if (found === undefined) throw new Error(`${name} names no licence`);
  return found;
}

function inputs(src: string, entries: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.map((file) => [file.replace(/\.ts$/, ''), join(src, file)]));
}

/** Programs by the names that their files get. Those that are not of the sources stand beside what the sources were bundled to. */
export async function bundleOf(
  src: string,
  input: Readonly<Record<string, string>>,
  output: OutputOptions,
  { plugins = [], inside = INSIDE }: { readonly plugins?: readonly Plugin[]; readonly inside?: readonly string[] } = {},
): Promise<void> {
  await build({
    input,
    platform: 'node',
    // Packages of npm stay outside: they are installed beside.
    external: (id) =>
      !id.startsWith('.') && !isAbsolute(id) && !inside.some((name) => id === name || id.startsWith(`${name}/`)),
    tsconfig: false,
    preserveEntrySignatures: 'allow-extension',
    checks: { pluginTimings: false, ineffectiveDynamicImport: false },
    plugins: [...plugins, ownUrls(src), builtinsAsNeeded, oneByte, withoutFacades],
    output: { ...output, format: 'esm', sourcemap: true, comments: false },
  });
}

if (import.meta.main) {
  const [src = join(ROOT, 'src'), dist = join(ROOT, 'dist')] = process.argv.slice(2);
  await bundle(resolve(src), resolve(dist));
}
