import { children } from './children.ts';
import { drain } from './drain.ts';
import { growth } from './growth.ts';
import { idle } from './idle.ts';
import { latency } from './latency.ts';
import type { Measure } from './measure.ts';
import { push } from './push.ts';
import { timer } from './timer.ts';

/** All measures, in the order of the table. */
export const measures: readonly Measure[] = [push, drain, latency, children, timer, growth, idle];
