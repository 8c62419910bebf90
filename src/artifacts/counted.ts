import { pipeline, type Readable, Transform } from 'node:stream';

/** The same bytes; `onProgress` hears how many have gone by. */
export function counted(bytes: Readable, onProgress: ((bytes: number) => void) | undefined): Readable {
  if (onProgress === undefined) return bytes;
  let total = 0;
  const counter = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      onProgress((total += chunk.length));
      done(null, chunk);
    },
  });
  // An error of either ends both and is heard by whoever reads the counter.
  pipeline(bytes, counter, () => {});
  return counter;
}
