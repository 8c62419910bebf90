import { sep } from 'node:path';
import { client } from '../client/good.ts';
import { core } from '../core/good.ts';
import { engine } from '../engine/good.ts';
import { flow } from '../flow/good.ts';
import { protocol } from '../protocol/good.ts';
import { inner } from './inner.ts';

export const operate: unknown = [client, core, engine, flow, protocol, sep, inner];
