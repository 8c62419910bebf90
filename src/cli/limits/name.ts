import type { Argument } from '../../config/load.ts';

/** How the commands name a limit. */
export const NAME = { name: 'NAME', doc: 'The limit' } as const satisfies Argument;
