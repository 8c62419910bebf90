import { duration, filled, launcherText, oneOf, orNone, poolName, wholeNumber } from '../parse.ts';
import type { OptionTable } from './option.ts';

/** An option that is not given leaves the value as it is. */
const UNCHANGED = { env: [], fallback: () => undefined, fallbackDoc: 'as it is' } as const;
const MOST = 10_000;

/** Pools of workers, and what their workers are given. */
export const POOL_OPTIONS = {
  poolMin: {
    flag: 'min',
    doc: 'The least number of workers',
    value: 'N',
    parse: wholeNumber(0, MOST),
    ...UNCHANGED,
  },
  poolMax: {
    flag: 'max',
    doc: 'The most workers that are there or on their way, whoever checks',
    value: 'N',
    parse: wholeNumber(0, MOST),
    ...UNCHANGED,
  },
  tasksPerWorker: {
    doc: 'How many tasks one worker is there for, those that it runs and those that wait',
    value: 'N',
    parse: wholeNumber(1, 1_000_000),
    ...UNCHANGED,
  },
  scaleUpThreshold: {
    doc: 'So many tasks must wait before a worker is started beside others',
    value: 'N',
    parse: wholeNumber(0, 1_000_000),
    ...UNCHANGED,
  },
  targetWait: {
    doc: 'A task that has waited for longer counts for a worker of its own',
    value: 'TIME|none',
    parse: orNone(duration),
    ...UNCHANGED,
  },
  poolIdle: {
    flag: 'idle',
    doc: 'A worker without a task for so long is sent home',
    value: 'TIME',
    parse: duration,
    ...UNCHANGED,
  },
  cooldownUp: {
    doc: 'So long after workers were started no others are',
    value: 'TIME',
    parse: duration,
    ...UNCHANGED,
  },
  cooldownDown: {
    doc: 'So long after workers were started or sent home none is sent home',
    value: 'TIME',
    parse: duration,
    ...UNCHANGED,
  },
  burst: {
    doc: 'The most workers that one check starts',
    value: 'N',
    parse: wholeNumber(1, MOST),
    ...UNCHANGED,
  },
  startTimeout: {
    doc: 'A worker that has not come so long after its start is not expected any more',
    value: 'TIME',
    parse: duration,
    ...UNCHANGED,
  },
  life: {
    doc: 'A worker of the pool takes one task and ends, or stays until it is sent home',
    value: 'once|stay',
    parse: oneOf('once', 'stay'),
    ...UNCHANGED,
  },
  launcher: {
    doc: 'How workers are started: in-process, subprocess or another kind, or JSON with its settings',
    value: 'KIND|JSON',
    parse: launcherText,
    ...UNCHANGED,
  },
  enabled: {
    doc: 'Start workers; a pool that is off sends home who is idle',
    either: true,
    parse: (): boolean => true,
    ...UNCHANGED,
  },
  maxWorkers: {
    doc: 'The most workers of the pool, which is made if there is none',
    value: 'N',
    parse: wholeNumber(0, MOST),
    ...UNCHANGED,
    fallbackDoc: 'as the pool has it; 10 for a new one',
  },
  seeds: {
    flag: 'count',
    doc: 'How many tasks',
    value: 'N',
    parse: wholeNumber(1, 1_000_000),
    env: [],
    fallback: () => 10,
  },
  ticket: {
    doc: 'The ticket that a pool has started this worker with; it is good once. Better in the environment: other users see arguments',
    value: 'TICKET',
    parse: filled,
    env: ['LEASEHOLD_TICKET'],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  pool: {
    doc: 'The pool of this worker, which is checked once more when it ends',
    value: 'POOL',
    parse: poolName,
    env: ['LEASEHOLD_POOL'],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
} satisfies OptionTable;
