/** Seeds that once found something. The plan of a seed changes with the simulator; the story stays. */
export const REGRESSIONS: readonly { readonly seed: number; readonly found: string }[] = [
  { seed: 3, found: 'the pruner took the unique key of a finished task, which a revival then no longer held' },
  { seed: 377, found: 'putting a trigger again moved it back to a slot that had fired' },
  { seed: 2, found: 'a cancel request between the look and the reap was forgotten' },
  { seed: 738, found: 'an operation id whose first answer was an older task made a new one when it was repeated' },
];
