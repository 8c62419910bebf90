import { sep } from 'node:path';
import { client } from '../client/good.ts';
import { config } from '../config/good.ts';
import { app } from '../app/good.ts';
import { compat } from '../compat/good.ts';
import { errors } from '../core/errors.ts';
import { operate } from '../operate/good.ts';
import { inner } from './inner.ts';

export const cli: unknown = [client, config, app, compat, errors, operate, sep, inner];
