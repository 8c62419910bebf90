import { createHash } from 'node:crypto'; // expect: no-restricted-imports

export const digest: unknown = createHash;
