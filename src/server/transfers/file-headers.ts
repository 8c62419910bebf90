import { basename } from 'node:path/posix';
import type { Content } from '../../core/artifact/artifact.ts';

/** What a browser may show itself: nothing of these runs. Never HTML, SVG or PDF, whoever says that a file is one. */
const SHOWN: ReadonlySet<string> = new Set([
  'text/plain',
  'application/json',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
]);

export interface FileOf extends Content {
  readonly name: string;
  readonly type: string;
}

/**
 * The headers of a file that somebody else has made. Whatever it holds, a browser saves it or shows it without running anything of it, on no origin at
 * all: our own pages are on this one.
 */
export function fileHeaders({ name, type, sha256 }: FileOf, { inline }: { readonly inline: boolean }): Headers {
  const plain = mediaType(type);
  const shown = inline && SHOWN.has(plain);
  return {
    'content-type': typeHeader(plain),
    'content-disposition': disposition(shown ? 'inline' : 'attachment', basename(name)),
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    // Bytes of an id never change, but who may read them does.
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    etag: etagOf(sha256),
  };
}

type Headers = Readonly<Record<string, string>>;

export function etagOf(sha256: string): string {
  return `"${sha256}"`;
}

/** Without parameters, which we do not check. */
function mediaType(type: string): string {
  const [plain = ''] = type.toLowerCase().split(';', 1);
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,100}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}$/.test(plain.trim())
    ? plain.trim()
    : 'application/octet-stream';
}

/** Texts are taken as UTF-8: without a word about it a browser would guess. */
function typeHeader(type: string): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type;
}

/** Both forms of RFC 6266: letters of old, and any letter. */
function disposition(how: 'inline' | 'attachment', name: string): string {
  const old = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const any = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*!]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${how}; filename="${old}"; filename*=UTF-8''${any}`;
}
