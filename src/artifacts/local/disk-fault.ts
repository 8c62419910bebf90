import { fault, isEngineError } from '../../core/errors.ts';

const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT']);

/** Runs something on the disk. What the disk refuses becomes a clear error; faults pass. Reads of the caller's stream stay outside of it. */
export async function onDisk<T>(doing: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw diskFault(doing, error);
  }
}

function diskFault(doing: string, error: unknown): unknown {
  if (isEngineError(error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (FULL.has(code)) return diskFull(`${doing}: no space is left on the disk (${code})`, error);
  const problem = code === undefined ? (error instanceof Error ? error.message : String(error)) : meaning(code);
  return fault('ARTIFACT_FAILED', { problem: `${doing}: ${problem}`, code }, { cause: error });
}

/** `details.reason` tells a full disk from a place that is out of reach: a server answers 507 by it. */
export function diskFull(problem: string, cause?: unknown): Error {
  return fault(
    'ARTIFACT_FAILED',
    { problem, reason: 'full' },
    {
      cause,
      hint: 'Free some space on the disk of the artifacts, or remove artifacts that nobody needs. What was stored before is whole.',
    },
  );
}

function meaning(code: string): string {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `this process may not write or read there (${code})`;
    case 'EROFS':
      return `the disk is read-only (${code})`;
    case 'EMFILE':
    case 'ENFILE':
      return `too many files are open (${code})`;
    case 'ELOOP':
      return `a symbolic link is there, which is never followed (${code})`;
    case 'ENOENT':
      return `the folder of the store is gone (${code})`;
    default:
      return code;
  }
}
