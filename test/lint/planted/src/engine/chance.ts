import { createHash, randomUUID } from 'node:crypto'; // expect: no-restricted-imports
import { setTimeout as sleep } from 'node:timers/promises'; // expect: no-restricted-imports
import { performance as clock } from 'node:perf_hooks'; // expect: no-restricted-imports

export const drawn: unknown = [createHash, randomUUID, sleep, clock];
