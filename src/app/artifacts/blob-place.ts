import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore } from '../../artifacts/blob-store.ts';
import { storageKeys } from '../../config/environment.ts';
import { fault } from '../../core/errors.ts';
import { isPostgres, storeFile } from '../store-name.ts';

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
    const { openBlobStore } = await import('../../artifacts/open.ts');
    return openBlobStore(this.#url ?? this.#default(), { keys: storageKeys() });
  }

  #default(): string {
    const file = storeFile(this.#store);
    if (file !== undefined) return artifactsBeside(file);
    if (!isPostgres(this.#store)) {
      this.#temporary ??= mkdtempSync(join(tmpdir(), 'leasehold-artifacts-'));
      return this.#temporary;
    }
    throw fault(
      'INVALID_INPUT',
      { field: 'artifactStore', problem: 'a store on Postgres has no folder beside it' },
      { hint: 'Say where files of tasks lie: --artifact-store URL, LEASEHOLD_ARTIFACT_STORE, or the option artifactStore.' },
    );
  }
}

export function artifactsBeside(file: string): string {
  return `${file}.artifacts`;
}
