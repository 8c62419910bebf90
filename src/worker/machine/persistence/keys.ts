/** Keys of checkpoints. They become paths, and parts of them come from outside. */
import { fault } from '../../../core/errors.ts';

/** A name of a file has at most 255 bytes, and what is written next to it needs some. */
const MOST_BYTES = 200;

/** Throws `INVALID_INPUT` for a key that could lead out of its place. */
export function checkKey(key: string): void {
  const problem = problemOf(key) ?? (key.split('/').length === 2 ? undefined : 'it has the form EXECUTION/NAME');
  if (problem !== undefined) throw fault('INVALID_INPUT', { field: 'checkpoint key', problem });
}

/** Throws `INVALID_INPUT` for a name of a run that could not be part of a key. */
export function checkExecutionId(id: string): void {
  const problem = problemOf(id) ?? (id.includes('/') ? 'it has a "/"' : undefined);
  if (problem === undefined) return;
  throw fault(
    'INVALID_INPUT',
    { field: 'execution id', problem },
    { hint: 'Checkpoints are kept under this name: use letters, digits, "-" and "_".' },
  );
}

function problemOf(key: string): string | undefined {
  if (key === '') return 'it is empty';
  if (key.startsWith('/')) return 'it begins with "/"';
  if (key.includes('..')) return 'it has ".."';
  // A drive and a backslash lead elsewhere on some systems.
  if (/[\p{Cc}\\]|^[A-Za-z]:/u.test(key)) return 'it has a sign that a path cannot have';
  if (key.split('/').some((part) => part === '' || part.startsWith('.')))
    return 'a part of it is empty or begins with "."';
  return key.split('/').some((part) => Buffer.byteLength(part) > MOST_BYTES)
    ? `it has more than ${MOST_BYTES} bytes`
    : undefined;
}

export const stepKey = (executionId: string, step: number, event: string): string =>
  `${executionId}/step_${String(step).padStart(6, '0')}_${event}.json`;

export const latestKey = (executionId: string): string => `${executionId}/latest`;

export const isLatest = (key: string): boolean => key.endsWith('/latest');

export const executionOf = (key: string): string => key.slice(0, key.indexOf('/'));
