import { CLAIMING } from './claiming.ts';
import { DUTY_WORK } from './duties.ts';
import { TIME_AND_FAULTS } from './faults.ts';
import { FEED } from './feed.ts';
import { OPERATING } from './operating.ts';
import type { Operation } from './operation.ts';
import { PUSHING } from './pushing.ts';
import { SPEAKING } from './speaking.ts';
import { TOGETHER } from './together.ts';
import { TRIGGERS } from './triggers.ts';

/** Everything that can happen in a run. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...PUSHING,
  ...CLAIMING,
  ...SPEAKING,
  ...TOGETHER,
  ...OPERATING,
  ...DUTY_WORK,
  ...TRIGGERS,
  ...FEED,
  ...TIME_AND_FAULTS,
};
