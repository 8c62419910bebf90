import { sep } from 'node:path';
import { core } from '../core/good.ts';
import { flow } from '../flow/good.ts';
import { worker } from '../worker/good.ts';
import { inner } from './inner.ts';

export const fleet: unknown = [core, flow, worker, sep, inner];
