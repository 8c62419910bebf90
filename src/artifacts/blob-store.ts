import type { Readable } from 'node:stream';
import type { Content } from '../core/artifact/artifact.ts';

/** Where the bytes of artifacts lie: a folder of the node, or a bucket. It knows keys and bytes, and nothing of tasks. */
export interface BlobStore {
  /** Names the kind of place, for people: `local`, `s3`. */
  readonly kind: string;

  /**
   * Stores what the stream gives under the key: all of it, or nothing that a reader could see. Refused with `ARTIFACT_MISMATCH` when the bytes are
   * not those of `content`. Memory stays bounded whatever the size. A key that is there already is written over by the same bytes.
   * An abort destroys the stream; after any other failure it is the caller's to end. A disk without room is `ARTIFACT_FAILED` with `details.reason` `full`.
   */
  put(key: string, bytes: Readable, content: Content, options?: BlobCall): Promise<void>;

  /** The bytes, or those from `start` up to and without `end`. `NOT_FOUND`: there are none. */
  get(key: string, options?: BlobCall & { readonly start?: number; readonly end?: number }): Promise<Readable>;

  /** The size of what is stored; undefined: nothing is. */
  size(key: string, options?: BlobCall): Promise<number | undefined>;

  /** May be repeated. */
  remove(keys: readonly string[], options?: BlobCall): Promise<void>;

  /**
   * Where somebody without any key of the place may send or fetch these bytes until `untilMs` from now, and nothing else. Undefined: the place has no
   * addresses of its own, so bytes go through a node.
   */
  readonly sign?: ((request: SignRequest) => Promise<SignedTransfer>) | undefined;

  /** Whether it can be written and read now; throws what is wrong with it. */
  check(options?: BlobCall): Promise<void>;

  close(): Promise<void>;
}

export interface BlobCall {
  readonly signal?: AbortSignal | undefined;
  /** How many bytes have gone by, from the first on. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Of a put: the chunks of the stream are nobody else's, and their memory may be given back as soon as they are stored. */
  readonly spent?: boolean | undefined;
}

export type SignRequest =
  | { readonly way: 'put'; readonly key: string; readonly content: Content; readonly untilMs: number }
  | { readonly way: 'get'; readonly key: string; readonly untilMs: number; readonly fileName?: string | undefined };

export interface SignedTransfer {
  readonly method: 'PUT' | 'GET';
  readonly url: string;
  /** These go with the request, as they are. */
  readonly headers: Readonly<Record<string, string>>;
}
