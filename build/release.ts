/**
 * Builds the release of the worker that nodes serve: `node build/release.ts [FOLDER]`. With the file of a key in LEASEHOLD_RELEASE_KEY it is
 * signed; the key stays outside of the tree and of every server.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { BUNDLE_FILE } from '../src/app/release/release-folder.ts';
import { type SignedRelease, signRelease } from '../src/app/release/sign-release.ts';
import { workerBundle } from './worker-bundle.ts';

const ROOT = join(import.meta.dirname, '..');

/** Writes a release into a folder: its bundle, its manifest. */
export async function release(
  folder: string,
  { version = packageVersion(), keyFile }: { readonly version?: string; readonly keyFile?: string | undefined },
): Promise<SignedRelease> {
  const { bundle } = await workerBundle(version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, BUNDLE_FILE), bundle);
  return signRelease(folder, { keyFile, now: Date.now() });
}

function packageVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}

/** A key in the tree would be committed, or packed, one day. */
function keyOutside(file: string | undefined): string | undefined {
  if (file === undefined || file === '') return undefined;
  const within = relative(ROOT, resolve(file));
  if (within.startsWith('..')) return resolve(file);
  throw new Error('the key of releases must not lie in the source tree');
}

if (import.meta.main) {
  const [folder = join(ROOT, 'dist/release')] = process.argv.slice(2);
  const { version, key } = await release(folder, { keyFile: keyOutside(process.env.LEASEHOLD_RELEASE_KEY) });
  // The node sends it as it is.
  mkdirSync(join(ROOT, 'dist/server/release'), { recursive: true });
  copyFileSync(join(ROOT, 'src/server/release/install.sh'), join(ROOT, 'dist/server/release/install.sh'));
  console.log(
    key === undefined
      ? `release ${version} of the worker is NOT SIGNED: hosts install it only with --unsigned. Name a key in LEASEHOLD_RELEASE_KEY, or run "leasehold release sign".`
      : `release ${version} of the worker is signed by ${key}`,
  );
}
