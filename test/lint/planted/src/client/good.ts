import { sep } from 'node:path';
import { protocol } from '../protocol/good.ts';
import { inner } from './inner.ts';

export const client: unknown = [protocol, sep, inner];
