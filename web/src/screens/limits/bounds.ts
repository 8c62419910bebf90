/** The bounds of a limit as text, and whether it is full. */

import type { Limit } from '../../api.ts';

export const isFull = ({ concurrent, active }: Limit): boolean => concurrent !== undefined && active >= concurrent;

export function boundsText(limit: {
  readonly concurrent?: number | undefined;
  readonly perKey?: number | undefined;
  readonly rate?: { readonly max: number; readonly window: string } | undefined;
  readonly cost?: { readonly max: number; readonly window: string } | undefined;
  readonly strategy?: string;
  readonly backlog?: number | undefined;
}): string {
  return (
    [
      limit.concurrent === undefined ? '' : `${limit.concurrent} at once`,
      limit.perKey === undefined ? '' : `${limit.perKey} per key`,
      limit.rate === undefined ? '' : `${limit.rate.max} in ${limit.rate.window}`,
      limit.cost === undefined ? '' : `cost ${limit.cost.max} in ${limit.cost.window}`,
      limit.backlog === undefined ? '' : `${limit.backlog} may wait`,
      limit.strategy === undefined || limit.strategy === 'queue' ? '' : limit.strategy.replace('_', ' '),
    ]
      .filter((part) => part !== '')
      .join(', ') || 'no bound'
  );
}
