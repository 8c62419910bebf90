/** Which artifacts a page shows, and how. Only what runs nothing: texts as text, and pictures of pixels. Everything else is downloaded. */

import { parseExact } from '../json.ts';

/** How much of a text is fetched. */
export const MOST_TEXT = 256 * 1024;
/** A picture is fetched whole, or not at all. */
export const MOST_PICTURE = 8 * 1024 * 1024;
/** JSON that is deeper is shown as text: a tree of it would take more of the stack than there is. */
const MOST_DEPTH = 200;

const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export type Preview =
  | { readonly as: 'text' | 'json' | 'picture' }
  /** Only a download; `why` is a sentence. */
  | { readonly as: 'nothing'; readonly why: string };

/** Parameters such as the charset do not count. */
function mediaTypeOf(type: string): string {
  return (type.toLowerCase().split(';', 1)[0] ?? '').trim();
}

export function previewOfFile({ type, size }: { readonly type: string; readonly size: number }): Preview {
  const plain = mediaTypeOf(type);
  const picture = PICTURES.has(plain);
  if (!picture && plain !== 'text/plain' && plain !== 'application/json')
    return { as: 'nothing', why: 'Files of this type are not shown here: download it to look at it.' };
  if (size === 0) return { as: 'nothing', why: 'It is empty.' };
  if (!picture) return { as: plain === 'application/json' ? 'json' : 'text' };
  return size <= MOST_PICTURE
    ? { as: 'picture' }
    : { as: 'nothing', why: 'This picture is too large to be shown here: download it to look at it.' };
}

/** Bytes as text. A letter that was cut through at the end is left out. */
export function textOfBytes(bytes: Uint8Array, isCut: boolean): string {
  return new TextDecoder().decode(bytes, { stream: isCut });
}

/** The value of a JSON text; undefined: it is none, or too deep, and is shown as the text that it is. */
export function jsonOfText(text: string): { readonly value: unknown } | undefined {
  if (depthOf(text) > MOST_DEPTH) return undefined;
  try {
    return { value: parseExact(text) };
  } catch {
    return undefined;
  }
}

/** How deep lists and maps lie in each other, without a parser. */
function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (quoted) {
      if (char === '\\') i += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '[' || char === '{') most = Math.max(most, ++depth);
    else if (char === ']' || char === '}') depth -= 1;
  }
  return most;
}
