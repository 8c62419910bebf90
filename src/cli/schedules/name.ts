import type { Argument } from '../../config/load.ts';

/** How the commands name a schedule. */
export const NAME = { name: 'NAME', doc: 'The schedule' } as const satisfies Argument;
