import { core } from '../core/good.ts';
import { inner } from './inner.ts';

export const flow: unknown = [core, inner];
