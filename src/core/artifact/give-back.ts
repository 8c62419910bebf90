/**
 * Gives the memory of a chunk back at once, for whoever has it alone and is done with it. Chunks lie outside of the heap: of a large file hundreds would
 * wait for a collection. One that is a part of something larger is left alone.
 */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
