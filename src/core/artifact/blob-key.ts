import { fault } from '../errors.ts';

const ID = /^art_[0-9a-f]{32}$/;
const KEY = /^sha256\/([0-9a-f]{2})\/([0-9a-f]{64})-[0-9a-f]{32}$/;

/** A new id: 128 bits of chance, 16 at a time. */
export function newArtifactId(random: () => number): string {
  let digits = '';
  for (let i = 0; i < 8; i++) {
    digits += Math.floor(random() * 0x1_0000)
      .toString(16)
      .padStart(4, '0');
  }
  return `art_${digits}`;
}

export function isArtifactId(text: unknown): text is string {
  return typeof text === 'string' && ID.test(text);
}

export function checkArtifactId(text: unknown): string {
  if (isArtifactId(text)) return text;
  throw fault(
    'INVALID_ID',
    { kind: 'artifact', id: text },
    { hint: 'The id of an artifact is "art_" and 32 hex digits.' },
  );
}

/**
 * Where the bytes of an artifact lie, unless it shares those of another one: by their hash, and by the id of the first artifact that has them. So a key
 * whose bytes were deleted never comes again, and a deletion that arrives late can only hit what nobody refers to.
 */
export function blobKey(sha256: string, id: string): string {
  return `sha256/${sha256.slice(0, 2)}/${sha256}-${id.slice('art_'.length)}`;
}

/** A key that was made here: it leads to no other place, whatever the blobs lie in. */
export function isBlobKey(text: string): boolean {
  const [, folder, sha256] = KEY.exec(text) ?? [];
  return folder !== undefined && sha256?.startsWith(folder) === true;
}
