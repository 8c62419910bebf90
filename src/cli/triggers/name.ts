import type { Argument } from '../../config/load.ts';

/** How the commands name a trigger. */
export const NAME = { name: 'NAME', doc: 'The trigger' } as const satisfies Argument;
