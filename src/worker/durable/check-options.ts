import { fault } from '../../core/errors.ts';

/** Refuses options that are no object, and unknown ones. */
export function checkOptions(field: string, options: unknown, known: ReadonlySet<string>): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw fault('INVALID_INPUT', { field, problem: 'it must be an object' });
  }
  for (const option of Object.keys(options)) {
    if (known.has(option)) continue;
    const names = [...known].join(', ');
    throw fault('UNKNOWN_OPTION', { option, known: names }, { hint: `The ${field} are ${names}.` });
  }
}
