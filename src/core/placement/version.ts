import { fault } from '../errors.ts';

/** `1.4.2`, `v1.4`, `2`; anything after a "-" or "+" does not count. */
const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+].*)?$/;
const SIGNS = /(>=|<=|>|<|=)\s+/g;
const PART = /^(>=|<=|>|<|=)?(v?\d[^\s<>=]*)$/;
const MAX_PARTS = 10;

export interface VersionTest {
  readonly op: '>=' | '<=' | '>' | '<' | '=';
  readonly version: readonly number[];
}

/** A range such as `>=1.4 <2`: all of its parts must hold. A version without an operator means exactly that version. */
export function parseRange(field: string, text: unknown): readonly VersionTest[] {
  // Split, not searched: a part that is no version must be refused, and not skipped.
  const parts = typeof text === 'string' ? text.trim().replace(SIGNS, '$1').split(/\s+/) : [''];
  const tests = parts.map((part) => {
    const [, op = '=', version = ''] = PART.exec(part) ?? [];
    const numbers = parseVersion(version);
    return numbers === undefined ? undefined : { op: op as VersionTest['op'], version: numbers };
  });
  if (tests.length > MAX_PARTS || tests.includes(undefined)) {
    const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 80)) : `a value of type ${typeof text}`;
    throw fault('INVALID_INPUT', { field, problem: `${shown} is not a range of versions such as ">=1.4 <2"` });
  }
  return tests as readonly VersionTest[];
}

export function inRange(range: readonly VersionTest[], version: string | undefined): boolean {
  const numbers = version === undefined ? undefined : parseVersion(version);
  if (numbers === undefined) return false;
  return range.every(({ op, version: wanted }) => {
    const order = compare(numbers, wanted);
    if (op === '=') return order === 0;
    if (op === '>=') return order >= 0;
    if (op === '<=') return order <= 0;
    return op === '>' ? order > 0 : order < 0;
  });
}

function parseVersion(text: string): readonly number[] | undefined {
  const found = VERSION.exec(text);
  return found === null ? undefined : found.slice(1, 4).map((part) => Number(part ?? 0));
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [i, part] of a.entries()) {
    const difference = part - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
