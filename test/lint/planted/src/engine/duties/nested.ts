import { inner } from '../inner.ts';
import { core } from '../../core/good.ts';
import { store } from '../../store/store.ts';
import { queueStore } from '../../store/queue-store.ts';
import { open } from '../../store/sqlite/open.ts'; // expect: no-restricted-imports
import { app } from '../../app/good.ts'; // expect: no-restricted-imports
import type { server } from '../../server/good.ts'; // expect: no-restricted-imports

export { cli } from '../../cli/good.ts'; // expect: no-restricted-imports

export const nested: unknown = [inner, core, store, queueStore, open, app, [] as (typeof server)[]];
export const late: Promise<unknown> = import('../../worker/good.ts'); // expect: no-restricted-imports
