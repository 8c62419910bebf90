import { inner } from './inner.ts';

export const core: unknown = [inner];
