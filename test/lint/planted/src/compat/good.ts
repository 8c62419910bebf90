import { sep } from 'node:path';
import { app } from '../app/good.ts';
import { inner } from './inner.ts';

export const compat: unknown = [app, sep, inner];
