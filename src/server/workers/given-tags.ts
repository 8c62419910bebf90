import { fault } from '../../core/errors.ts';

/** A worker of another host may carry fewer tags than its name was given, never more. */
export function requireGiven(name: string, tags: readonly string[], given: readonly string[]): void {
  const extra = tags.find((tag) => !given.includes(tag));
  if (extra === undefined) return;
  throw fault(
    'FORBIDDEN',
    { problem: `the tag ${extra} was not given to the worker ${name}` },
    { hint: `"leasehold workers tag ${name} --add ${extra}" gives it.` },
  );
}
