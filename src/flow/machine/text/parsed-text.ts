import { fault } from '../../../core/errors.ts';
import type { Path } from '../problems.ts';

export interface MachineText {
  readonly value: unknown;
  /** The line of a field, from 1; of the nearest field around it, if it is not there itself. */
  readonly lineOf: (path: Path) => number | undefined;
}

export function wrong(name: string, problem: string, line: number): Error {
  return fault('INVALID_INPUT', { field: name, problem: `line ${line}: ${problem.replace(/\.$/, '')}` });
}
