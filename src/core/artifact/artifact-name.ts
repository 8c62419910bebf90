import { fault } from '../errors.ts';

export const MAX_ARTIFACT_NAME = 500;
const MAX_SEGMENT = 200;

/** Windows opens a device for these, whatever extension follows. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\.|$)/i;

/**
 * The name of an artifact: segments with `/` between, such as `report/summary.json`. It is a text of its own: nothing in it is decoded, and no byte of
 * ours lies under it. It may become a file on somebody's machine, so each segment could be a file there and none leads elsewhere.
 */
export function checkArtifactName(name: unknown, field = 'artifact name'): string {
  const problem = typeof name === 'string' ? problemOfName(name) : 'it must be a text';
  if (problem !== undefined) throw fault('INVALID_INPUT', { field, problem });
  return name as string;
}

function problemOfName(name: string): string | undefined {
  if (name.length === 0) return 'it is empty';
  if (name.length > MAX_ARTIFACT_NAME) return `it is longer than ${MAX_ARTIFACT_NAME} characters`;
  if (/\p{Cc}/u.test(name)) return 'it contains a control character';
  if (!name.isWellFormed()) return 'it contains half of a surrogate pair';
  if (name.includes('\\')) return 'it contains a backslash; folders are separated by "/"';
  for (const segment of name.split('/')) {
    const problem = problemOfSegment(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOfSegment(segment: string): string | undefined {
  if (segment === '') return 'a part of it is empty: it neither begins nor ends with "/", nor has two of them in a row';
  if (segment.length > MAX_SEGMENT) return `a part of it is longer than ${MAX_SEGMENT} characters`;
  if (segment === '.' || segment === '..') return 'a part of it is "." or ".."';
  if (segment.trim() !== segment) return 'a part of it begins or ends with a space';
  if (segment.endsWith('.')) return 'a part of it ends with a dot';
  if (/[<>:"|?*]/.test(segment)) return 'a part of it has one of <>:"|?* in it, which no file on Windows has';
  if (DEVICE.test(segment)) return `the part ${JSON.stringify(segment)} is the name of a device on Windows`;
  return undefined;
}
