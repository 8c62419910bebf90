import type { DefectName } from './defects.ts';

/** What the simulator found while this was built: a seed that shows it, with the defect put back and without. */
export const REGRESSIONS: readonly { readonly seed: number; readonly defect: DefectName }[] = [
  { seed: 14, defect: 'key-pruned-early' },
  { seed: 2, defect: 'trigger-moved-back' },
  { seed: 48, defect: 'operation-half-kept' },
  { seed: 58, defect: 'cancel-lost-to-reap' },
];
