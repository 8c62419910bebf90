import { atLeast, duration, filled, oneOf, wholeNumber } from '../parse.ts';
import type { OptionTable } from './option.ts';

const MOST = 1000;

/** `pool run`: the pool manager of Universal Agent, with the options of its configurations. */
export const RUN_POOL_OPTIONS = {
  leastWorkers: {
    flag: 'min',
    doc: 'The least number of workers; dead ones are replaced',
    value: 'N',
    parse: wholeNumber(0, MOST),
    env: [],
    fallback: () => 1,
  },
  mostWorkers: {
    flag: 'max',
    doc: 'The most workers',
    value: 'N',
    parse: wholeNumber(1, MOST),
    env: [],
    fallback: () => 4,
  },
  waitingRuns: {
    flag: 'scale-up-threshold',
    doc: 'So many runs must wait before a worker is added',
    value: 'N',
    parse: wholeNumber(1, 1_000_000),
    env: [],
    fallback: () => 5,
  },
  workerIdle: {
    flag: 'idle',
    doc: 'A worker that has had no run for longer may be sent home',
    value: 'TIME',
    parse: duration,
    env: [],
    fallback: () => 300_000,
    fallbackDoc: '5m',
  },
  monitorInterval: {
    doc: 'How often the pool looks at its queue',
    value: 'TIME',
    parse: atLeast(10),
    env: [],
    fallback: () => 10_000,
    fallbackDoc: '10s',
  },
  scaling: {
    doc: 'One worker more a look at the threshold, or at once as many as runs wait',
    value: 'threshold|demand',
    parse: oneOf('threshold', 'demand'),
    env: [],
    fallback: (): 'threshold' | 'demand' => 'threshold',
  },
  processes: {
    doc: 'Make each worker a process of its own',
    parse: (): boolean => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'all in this one',
  },
  runsPerWorker: {
    doc: 'How many runs a worker is at, at a time',
    value: 'N',
    parse: wholeNumber(1, MOST),
    env: [],
    fallback: () => 1,
  },
  retryFailures: {
    doc: 'Run a run again whose handler failed, as often as it may; otherwise it has failed',
    parse: (): boolean => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'it has failed',
  },
  runHandler: {
    doc: 'File that exports runHandler, or agent for the default handler',
    value: 'FILE',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the default handler, over --gateway-url',
  },
  gatewayUrl: {
    doc: 'Where the gateway of the agent is; its token is UA_INTERNAL_API_TOKEN or UA_OPS_TOKEN',
    value: 'URL',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
} satisfies OptionTable;
