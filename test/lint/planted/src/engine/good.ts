import { sep } from 'node:path';
import { core } from '../core/good.ts';
import { flow } from '../flow/good.ts';
import { store } from '../store/store.ts';
import { queueStore } from '../store/queue-store.ts';
import { inner } from './inner.ts';

export const engine: unknown = [core, flow, store, queueStore, sep, inner];
