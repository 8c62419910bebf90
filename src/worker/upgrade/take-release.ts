import { MAX_MANIFEST_BYTES, type Manifest, readManifest, readSigned } from '../../core/release/manifest.ts';
import type { UpdaterState } from '../../core/release/updater.ts';
import { objection } from '../../core/release/verdict.ts';
import { unpackBundle } from './bundle-file.ts';
import { fetchFrom, NotReached } from './fetch.ts';
import type { Install, InstallFolder } from './install-folder.ts';
import { isSignedBy, sha256 } from './release-key.ts';

export const MANIFEST_PATH = '/release/manifest.json';
export const bundlePath = (hash: string): string => `/release/bundle/${hash}`;

/** JSON in JSON: each quotation mark is escaped. */
const MAX_ENVELOPE_BYTES = 2 * MAX_MANIFEST_BYTES;

/** Fetches the release that the node shows, and unpacks it if nothing is wrong with it. Otherwise nothing was changed. */
export async function takeRelease(
  folder: InstallFolder,
  install: Install,
  state: UpdaterState,
  { now, node }: { readonly now: number; readonly node: string },
): Promise<Manifest> {
  let away: NotReached | undefined;
  for (const url of install.urls) {
    try {
      return await takeFrom(url, { folder, install, state, now, node });
    } catch (error) {
      if (!(error instanceof NotReached)) throw error;
      away = error;
    }
  }
  throw away ?? new NotReached('no node is known');
}

interface Taking {
  readonly folder: InstallFolder;
  readonly install: Install;
  readonly state: UpdaterState;
  readonly now: number;
  readonly node: string;
}

async function takeFrom(url: string, { folder, install, state, now, node }: Taking): Promise<Manifest> {
  const envelope = readSigned((await fetchFrom(url, MANIFEST_PATH, MAX_ENVELOPE_BYTES)).toString());
  if (!isTrusted(envelope, install)) throw new Error(refusalOf(envelope));
  const release = readManifest(envelope.signed);
  const problem = objection(release, { now, node, newest: state.newest, floor: state.floor });
  if (problem !== undefined) throw new Error(problem);
  const bytes = await fetchFrom(url, bundlePath(release.sha256), release.size);
  if (bytes.length !== release.size || sha256(bytes) !== release.sha256)
    throw new Error(`the bundle of release ${release.version} is not the one that was signed`);
  const bundle = unpackBundle(bytes);
  if (bundle.version !== release.version)
    throw new Error(`the bundle of release ${release.version} is another release`);
  folder.unpack(bundle);
  return release;
}

/** Unsigned releases are taken only where the installer was told so, and a wrong signature nowhere. */
function isTrusted(envelope: ReturnType<typeof readSigned>, { keys, unsigned = false }: Install): boolean {
  return envelope.signature === undefined ? unsigned : isSignedBy(envelope, keys);
}

function refusalOf({ signature }: ReturnType<typeof readSigned>): string {
  return signature === undefined
    ? 'the release is not signed'
    : 'the release is not signed by a key that is pinned here';
}
