export interface Part {
  readonly number: number;
  readonly etag: string;
}

export interface PartToSend {
  readonly number: number;
  readonly body: Uint8Array;
  /** Aborted when another part has failed for good. */
  readonly signal: AbortSignal;
}

interface Plan {
  readonly partBytes: number;
  readonly buffers: number;
}

/**
 * Cuts a stream into parts and sends some of them at a time, while the next one is filled. The buffers are used again and again, so memory does not
 * grow with the stream. Resolves when every part has arrived; rejects when no part travels any more.
 */
export async function sendParts(
  chunks: AsyncIterable<Uint8Array>,
  { partBytes, buffers }: Plan,
  send: (part: PartToSend) => Promise<string>,
): Promise<readonly Part[]> {
  const sent: Part[] = [];
  const stop = new AbortController();
  const travelling = new Set<Promise<void>>();
  const free: Uint8Array[] = [];
  let failed: { readonly error: unknown } | undefined;
  let made = 0;
  let buffer: Uint8Array | undefined;
  let filled = 0;
  let next = 1;

  const depart = (whole: Uint8Array, size: number): void => {
    const number = next++;
    const travel = send({ number, body: whole.subarray(0, size), signal: stop.signal })
      .then((etag) => {
        sent.push({ number, etag });
        free.push(whole);
      })
      .catch((error: unknown) => {
        failed ??= { error };
        stop.abort(error);
      })
      .finally(() => travelling.delete(travel));
    travelling.add(travel);
  };
  const emptyBuffer = async (): Promise<Uint8Array> => {
    for (;;) {
      if (failed !== undefined) throw failed.error;
      const found = free.pop();
      if (found !== undefined) return found;
      if (made < buffers) {
        made += 1;
        return Buffer.allocUnsafeSlow(partBytes);
      }
      await Promise.race(travelling);
    }
  };

  try {
    for await (const chunk of chunks) {
      for (let from = 0; from < chunk.length; ) {
        buffer ??= await emptyBuffer();
        const count = Math.min(chunk.length - from, partBytes - filled);
        buffer.set(chunk.subarray(from, from + count), filled);
        filled += count;
        from += count;
        if (filled < partBytes) continue;
        depart(buffer, filled);
        buffer = undefined;
        filled = 0;
      }
    }
    if (buffer !== undefined) depart(buffer, filled);
  } catch (error) {
    failed ??= { error };
    stop.abort(error);
  }
  await Promise.all(travelling);
  if (failed !== undefined) throw failed.error;
  return sent.toSorted((a, b) => a.number - b.number);
}
