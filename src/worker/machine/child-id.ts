import { createHash } from 'node:crypto';

/**
 * The name of a machine within another, made of the place where it was started: a run that is resumed finds its machines again. A UUID of version 5,
 * because a name that grew with the depth would be too long for a file.
 */
export function childId(parentId: string, step: number, place: string): string {
  const hash = createHash('sha1').update(`${parentId}\n${step}\n${place}`).digest();
  hash[6] = ((hash[6] as number) & 0x0f) | 0x50;
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
