import { DatabaseSync } from 'node:sqlite';
import { core } from '../../core/good.ts';
import { engine } from '../../engine/good.ts'; // expect: no-restricted-imports
import { store } from '../store.ts';

export const open: unknown = [DatabaseSync, core, engine, store];
