import { sep } from 'node:path';
import { core } from '../core/good.ts';
import { protocol } from '../protocol/good.ts';
import { inner } from './inner.ts';

export const client: unknown = [core, protocol, sep, inner];
