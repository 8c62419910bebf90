import { fault } from '../app/library/manual.ts';

export function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
