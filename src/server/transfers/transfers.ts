import type { BlobStore, SignedTransfer } from '../../artifacts/blob-store.ts';
import type { ArtifactRecord } from '../../engine/records.ts';
import { GOOD_FOR_MS, shareOf, type TransferSigner } from './transfer-signer.ts';

/** The place of the bytes. It is opened when it is first needed. */
export type BlobPlace = () => Promise<BlobStore>;

export interface TransfersOptions {
  readonly signer: TransferSigner;
  readonly blobs: BlobPlace;
}

/** An artifact whose bytes are to travel. */
export type Travelling = Pick<ArtifactRecord, 'id' | 'blob' | 'size' | 'sha256' | 'name'>;

/** Says where bytes are sent and fetched: at the place itself if it has addresses of its own, and otherwise at the node that is asked. */
export class Transfers {
  readonly #signer: TransferSigner;
  readonly #blobs: BlobPlace;

  constructor({ signer, blobs }: TransfersOptions) {
    this.#signer = signer;
    this.#blobs = blobs;
  }

  /**
   * Whether makers send bytes to the place itself. No node checks them on their way then, so such an artifact is begun with `own`: its bytes are
   * never shared.
   */
  async areDirect(): Promise<boolean> {
    return (await this.#blobs()).sign !== undefined;
  }

  async upload({ id, blob, size, sha256 }: Omit<Travelling, 'name'>, worker: string): Promise<SignedTransfer> {
    const content = { size, sha256 };
    const blobs = await this.#blobs();
    if (blobs.sign === undefined) return this.#signer.sign('put', id, content, shareOf(worker));
    return blobs.sign({ way: 'put', key: blob, content, untilMs: GOOD_FOR_MS });
  }

  async download({ id, blob, size, sha256, name }: Travelling, worker: string): Promise<SignedTransfer> {
    const blobs = await this.#blobs();
    if (blobs.sign === undefined) return this.#signer.sign('get', id, { size, sha256 }, shareOf(worker));
    const fileName = name.slice(name.lastIndexOf('/') + 1);
    return blobs.sign({ way: 'get', key: blob, untilMs: GOOD_FOR_MS, fileName });
  }
}
