import { sep } from 'node:path';
import { core } from '../core/good.ts';
import { flow } from '../flow/good.ts';
import { store } from '../store/good.ts';
import { engine } from '../engine/good.ts';
import { protocol } from '../protocol/good.ts';
import { workspace } from '../workspace/good.ts';
import { artifacts } from '../artifacts/good.ts';
import { worker } from '../worker/good.ts';
import { fleet } from '../fleet/good.ts';
import { server } from '../server/good.ts';
import { client } from '../client/good.ts';
import { config } from '../config/good.ts';
import { operate } from '../operate/good.ts';
import { inner } from './inner.ts';

export const app: unknown = [core, flow, store, engine, protocol, workspace, artifacts, worker, fleet, server, client, config, operate, sep, inner];
