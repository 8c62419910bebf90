/** The bytes of an artifact, as far as a page shows them. */

import { client, ownFetch } from '../../api.ts';
import { MOST_TEXT, textOfBytes } from '../../model/files/preview.ts';

export function contentPath(id: string): string {
  return `/api/v1/artifacts/${encodeURIComponent(id)}/content`;
}

/** For a picture: the node says so only for types of which nothing runs. */
export function inlinePath(id: string): string {
  return `${contentPath(id)}?inline=1`;
}

export interface Beginning {
  readonly text: string;
  /** There is more than this. */
  readonly isCut: boolean;
}

/** The beginning of a text. However much comes, no more than this is read. */
export async function readBeginning(id: string, size: number, signal: AbortSignal): Promise<Beginning> {
  const headers = { range: `bytes=0-${MOST_TEXT - 1}` };
  const response = await ownFetch(inlinePath(id), { headers, signal });
  // For a refusal the client makes the error.
  if (!response.ok || response.body === null) {
    await client.call('getArtifact', { params: { id }, signal });
    throw new Error(`The node has answered with ${response.status}.`);
  }
  const bytes = new Uint8Array(Math.min(size, MOST_TEXT));
  let at = 0;
  const reader = response.body.getReader();
  while (at < bytes.length) {
    const { value, done } = await reader.read();
    if (done) break;
    const part = value.subarray(0, bytes.length - at);
    bytes.set(part, at);
    at += part.length;
  }
  await reader.cancel();
  const isCut = size > MOST_TEXT;
  return { text: textOfBytes(bytes.subarray(0, at), isCut), isCut };
}
