import { sep } from 'node:path';
import { core } from '../core/good.ts';
import { flow } from '../flow/good.ts';
import { protocol } from '../protocol/good.ts';
import { workspace } from '../workspace/good.ts';
import { artifacts } from '../artifacts/good.ts';
import { inner } from './inner.ts';

export const worker: unknown = [core, flow, protocol, workspace, artifacts, sep, inner];
