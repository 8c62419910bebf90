/** A place of bytes that is a folder, and fails and waits when a test says so. */
import type { BlobStore } from '../../../src/artifacts/blob-store.ts';
import { openBlobStore } from '../../../src/artifacts/open-blob-store.ts';
import { fault } from '../../../src/core/errors.ts';
import type { LinkArtifacts } from '../../../src/worker/conformance/scene.ts';

export class FaultyPlace implements LinkArtifacts {
  readonly #folder: string;
  #opened: Promise<BlobStore> | undefined;
  #failures = 0;
  #hold: { readonly arrived: () => void; readonly go: Promise<void> } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  readonly isKnown = true;

  readonly open = (): Promise<BlobStore> => {
    this.#opened ??= this.#open();
    return this.#opened;
  };

  failNext(transfers: number): void {
    this.#failures = transfers;
  }

  holdNext(): { readonly arrived: Promise<void>; go(): void } {
    const [arrived, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.#hold = { arrived: arrived.resolve, go: go.promise };
    return { arrived: arrived.promise, go: go.resolve };
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }

  async #open(): Promise<BlobStore> {
    const blobs = await openBlobStore(this.#folder);
    return {
      kind: blobs.kind,
      put: async (...args) => {
        this.#mayFail();
        const hold = this.#hold;
        this.#hold = undefined;
        hold?.arrived();
        await hold?.go;
        return blobs.put(...args);
      },
      get: async (...args) => {
        this.#mayFail();
        return blobs.get(...args);
      },
      size: (...args) => blobs.size(...args),
      remove: (...args) => blobs.remove(...args),
      check: (...args) => blobs.check(...args),
      close: () => blobs.close(),
    };
  }

  #mayFail(): void {
    if (this.#failures === 0) return;
    this.#failures--;
    throw fault('ARTIFACT_FAILED', { problem: 'the place is away' });
  }
}
