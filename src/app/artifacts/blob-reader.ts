import type { BlobReader } from '../../operate/engine-operator.ts';
import type { BlobPlace } from './blob-place.ts';

/** Reads from a place that somebody else closes. */
export function blobReader(place: Pick<BlobPlace, 'open'>): BlobReader {
  return {
    async read(blob, signal) {
      const blobs = await place.open();
      return blobs.get(blob, signal === undefined ? {} : { signal });
    },
  };
}
