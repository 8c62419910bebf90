import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { BlobStore } from '../../artifacts/blob-store.ts';
import { storageKeys } from '../../config/environment.ts';
import type { Duration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { isPostgres, storeFile } from '../store-name.ts';

/** How much room artifacts have, and how long they stay, besides their place. */
export interface ArtifactOptions extends ArtifactPlaceOptions {
  /** What all artifacts may take, in bytes; default no bound. */
  readonly artifactQuota?: number | undefined;
  /** What the artifacts of one task may take, in bytes; default no bound. */
  readonly artifactTaskQuota?: number | undefined;
  /** How long artifacts are kept after the end of their task: `3d`, or milliseconds; default as long as finished tasks. */
  readonly artifactRetentionMs?: Duration | undefined;
}

export interface ArtifactPlaceOptions {
  /** Where the bytes of artifacts lie: a folder, or a bucket; default: a folder beside a SQLite file. */
  readonly artifactStore?: string | undefined;
}

/** The place of the bytes, opened at most once. A process that touches no artifact loads nothing of it, and makes no folder. */
export class BlobPlace {
  readonly #store: string;
  readonly #url: string | undefined;
  #opened: Promise<BlobStore> | undefined;
  #temporary: string | undefined;
  #closed = false;

  constructor(store: string, { artifactStore }: ArtifactPlaceOptions) {
    this.#store = store;
    this.#url = artifactStore;
  }

  /** Whether there is a place at all. */
  get isKnown(): boolean {
    return this.#url !== undefined || !isPostgres(this.#store);
  }

  readonly open = (): Promise<BlobStore> => {
    if (this.#closed) return Promise.reject(fault('STORE_CLOSED'));
    this.#opened ??= this.#open().catch((error: unknown) => {
      // The next one tries again: a place that is away comes back.
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  };

  /** A temporary folder goes with it. */
  async close(): Promise<void> {
    this.#closed = true;
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.close();
    if (this.#temporary !== undefined) rmSync(this.#temporary, { recursive: true, force: true });
  }

  async #open(): Promise<BlobStore> {
    const { openBlobStore } = await import('../../artifacts/open-blob-store.ts');
    const { region, ...credentials } = storageKeys();
    return openBlobStore(this.#url === undefined ? this.#default() : placeAt(this.#url, region), credentials);
  }

  #default(): string {
    const file = storeFile(this.#store);
    if (file !== undefined) return resolve(artifactsBeside(file));
    if (!isPostgres(this.#store)) {
      this.#temporary ??= mkdtempSync(join(tmpdir(), 'leasehold-artifacts-'));
      return this.#temporary;
    }
    throw fault(
      'INVALID_INPUT',
      { field: 'artifactStore', problem: 'a store on Postgres has no folder beside it' },
      {
        hint: 'Say where files of tasks lie: --artifact-store URL, LEASEHOLD_ARTIFACT_STORE, or the option artifactStore.',
      },
    );
  }
}

/** A folder may be named from here; the region of a bucket may be in the environment. */
function placeAt(url: string, region: string | undefined): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return resolve(url);
  if (!/^s3:/i.test(url) || region === undefined || !URL.canParse(url)) return url;
  const place = new URL(url);
  if (!place.searchParams.has('region')) place.searchParams.set('region', region);
  return place.href;
}

function artifactsBeside(file: string): string {
  return `${file}.artifacts`;
}
