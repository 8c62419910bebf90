import { fileURLToPath } from 'node:url';

/** The command line of this very package. */
export const PROGRAM: string = fileURLToPath(new URL('../../../bin/leasehold.js', import.meta.url));
