import { fault } from '../errors.ts';
import type { ArtifactKind, Content } from './artifact.ts';

/** What the largest object of a bucket has. */
export const MAX_ARTIFACT_BYTES = 5 * 2 ** 40;

/** Stored by position: only append. */
export const ARTIFACT_KINDS = [
  'file',
  'log',
  'output',
  'result',
  'diff',
  'bundle',
] as const satisfies readonly ArtifactKind[];

const SHA256 = /^[0-9a-f]{64}$/;
// A type, a subtype and a few parameters without quotes: nothing in it can end a header or begin another one.
const MEDIA_TYPE =
  /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,62}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,62}(?:; ?[A-Za-z0-9-]{1,30}=[A-Za-z0-9_.+-]{1,70}){0,2}$/;

/** Size and hash of bytes that somebody announces. Nothing more is taken over from what was given. */
export function checkContent(content: { readonly size: unknown; readonly sha256: unknown }): Content {
  const { size, sha256 } = content;
  if (!Number.isSafeInteger(size) || (size as number) < 0 || (size as number) > MAX_ARTIFACT_BYTES)
    throw refuse('size', `it must be a whole number of bytes from 0 to ${MAX_ARTIFACT_BYTES}`);
  if (typeof sha256 !== 'string' || !SHA256.test(sha256))
    throw refuse('sha256', 'it must be 64 hex digits, small ones');
  return { size: size as number, sha256 };
}

export function checkMediaType(type: unknown): string {
  if (typeof type === 'string' && MEDIA_TYPE.test(type)) return type;
  throw refuse('type', 'it must be a media type such as text/plain, with at most two plain parameters');
}

export function checkArtifactKind(kind: unknown): ArtifactKind {
  const known = ARTIFACT_KINDS.find((one) => one === kind);
  if (known !== undefined) return known;
  throw refuse('kind', `it is one of ${ARTIFACT_KINDS.join(', ')}`);
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
