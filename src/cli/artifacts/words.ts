import type { Argument } from '../../config/load.ts';

/** How the commands name an artifact. */
export const ARTIFACT = { name: 'ARTIFACT', doc: 'Id of the artifact (art_…)' } as const satisfies Argument;
