import { sep } from 'node:path';
import { core } from '../core/good.ts';
import { inner } from './inner.ts';

export const store: unknown = [core, sep, inner];
