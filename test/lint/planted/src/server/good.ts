import { sep } from 'node:path';
import { core } from '../core/good.ts';
import { engine } from '../engine/good.ts';
import { protocol } from '../protocol/good.ts';
import { operate } from '../operate/good.ts';
import { inner } from './inner.ts';

export const server: unknown = [core, engine, protocol, operate, sep, inner];
