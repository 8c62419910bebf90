import { contenders, REFERENCE } from '../contenders/sqlite/index.ts';
import { openFiles } from '../ground/files.ts';
import { children } from '../measures/children.ts';
import { drain } from '../measures/drain.ts';
import { growth } from '../measures/growth.ts';
import { idle } from '../measures/idle.ts';
import { latency } from '../measures/latency.ts';
import { MANY_CALLERS, push } from '../measures/push.ts';
import { timer } from '../measures/timer.ts';
import { sqliteTargets } from '../targets/sqlite.ts';
import type { Suite } from './suite.ts';

export const sqlite: Suite = {
  store: 'sqlite',
  title: 'SQLite',
  contenders,
  reference: REFERENCE,
  measures: [
    push(MANY_CALLERS),
    drain({ server: false }),
    latency({ seconds: 2, alone: true }),
    children,
    timer,
    growth,
    idle,
  ],
  targets: sqliteTargets,
  open: openFiles,
};
