import { handlerName, namePattern, queueName, wholeNumber } from '../parse.ts';
import type { Option, OptionTable } from './option.ts';

const UNCHANGED = { env: [], fallback: () => [], fallbackDoc: 'as it is' } as const satisfies Partial<Option>;
const OFF = {
  parse: () => true,
  env: [],
  fallback: () => false,
  fallbackDoc: 'off',
} as const satisfies Partial<Option>;
const PATTERN = { value: 'PATTERN', many: true, parse: namePattern, ...UNCHANGED } as const satisfies Partial<Option>;

/** What the name of a worker may run, and what its tasks may do to others. */
export const GRANT_OPTIONS = {
  grantHandler: {
    doc: 'Handler that the worker may run; may be repeated',
    flag: 'handler',
    value: 'HANDLER',
    many: true,
    parse: (text) => [handlerName(text)],
    ...UNCHANGED,
  },
  grantQueue: {
    doc: 'Queue that the worker may serve; may be repeated',
    flag: 'queue',
    value: 'QUEUE',
    many: true,
    parse: queueName,
    ...UNCHANGED,
  },
  grantSlots: {
    doc: 'How many tasks the worker may run at a time',
    flag: 'slots',
    value: 'N',
    parse: wholeNumber(1, 10_000),
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'as it is; 1000 at first',
  },
  any: { doc: 'Set no bound where none is given here: any handler that it offers, all queues', ...OFF },
  permitHandler: {
    doc: 'Handlers that its tasks may spawn, such as render-*; shell, js and http only by their whole names; may be repeated',
    flag: 'handler',
    ...PATTERN,
  },
  permitQueue: { doc: 'Queues that its tasks may spawn into; may be repeated', flag: 'queue', ...PATTERN },
  permitTag: {
    doc: 'Tags that children of its tasks may require of a worker; may be repeated',
    flag: 'tag',
    ...PATTERN,
  },
  permitWorker: {
    doc: 'Workers that children of its tasks may ask for by name; may be repeated',
    flag: 'worker',
    ...PATTERN,
  },
  permitLimit: {
    doc: 'Limits that children of its tasks may take from; may be repeated',
    flag: 'limit',
    ...PATTERN,
  },
  permitChannel: {
    doc: 'Channels that its tasks may wait on and send signals to; may be repeated',
    flag: 'channel',
    ...PATTERN,
  },
  permitWait: {
    doc: 'Channels that its tasks may wait on, without sending to them; may be repeated',
    flag: 'wait',
    ...PATTERN,
  },
  permitReuse: {
    doc: 'Children of its tasks may take over kept results, and share unique keys with tasks of others',
    flag: 'reuse',
    ...OFF,
  },
  none: { doc: 'Take away all permissions that are not given here', ...OFF },
} satisfies OptionTable;
