import type { Argument } from '../../config/load.ts';

/** How the commands name a limit. */
export const NAME = { name: 'NAME', doc: 'Which limit' } as const satisfies Argument;
