import { readFileSync } from 'node:fs'; // expect: no-restricted-imports
import { Pool } from 'pg'; // expect: no-restricted-imports
import type { store } from '../store/store.ts'; // expect: no-restricted-imports

export { flow } from '../flow/good.ts'; // expect: no-restricted-imports

export const late: Promise<unknown> = import('../engine/good.ts'); // expect: no-restricted-imports
export const reached: unknown = [readFileSync, Pool, [] as (typeof store)[]];
