import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_MANIFEST_BYTES, type Manifest, readManifest, readSigned } from '../../core/release/manifest.ts';
import type { Log } from '../../engine/log.ts';

export interface Served {
  readonly manifest: Manifest;
  /** The public key that it says it is signed by; undefined: it is not signed. */
  readonly key: string | undefined;
  /** As it is sent. */
  readonly envelope: string;
  readonly bundle: Buffer;
}

/** The release in a folder. A node shows it and vouches for nothing; a release that is not whole is not shown. */
export class ServedRelease {
  readonly #folder: () => string | undefined;
  readonly #log: Log;
  #read: { readonly stamp: string; readonly served: Promise<Served | undefined> } | undefined;

  constructor(folder: () => string | undefined, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Undefined: this node has none. */
  async current(): Promise<Served | undefined> {
    const folder = this.#folder();
    if (folder === undefined) return undefined;
    const file = join(folder, 'manifest.json');
    const found = await stat(file).catch(() => undefined);
    if (found === undefined || found.size > 2 * MAX_MANIFEST_BYTES) return undefined;
    // Of many callers one reads, until the file is another one.
    const stamp = `${folder} ${found.mtimeMs} ${found.ino} ${found.size}`;
    if (this.#read?.stamp !== stamp) this.#read = { stamp, served: this.#load(folder) };
    return this.#read.served;
  }

  async #load(folder: string): Promise<Served | undefined> {
    try {
      const envelope = await readFile(join(folder, 'manifest.json'), 'utf8');
      const { signed, key } = readSigned(envelope);
      const manifest = readManifest(signed);
      const file = join(folder, 'worker.bundle');
      const { size } = await stat(file);
      if (size !== manifest.size) throw new Error('the bundle does not have the size of its manifest');
      const bundle = await readFile(file);
      const hash = createHash('sha256').update(bundle).digest('hex');
      if (hash !== manifest.sha256) throw new Error('the bundle does not have the hash of its manifest');
      return { manifest, key, envelope, bundle };
    } catch (error) {
      this.#log.warn('the release of the worker cannot be served', { folder, error: String(error) });
      return undefined;
    }
  }
}
