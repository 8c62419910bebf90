import { STRATEGIES } from '../../core/limits/limit.ts';
import { atLeast, keyText, oneOf, orNone, type Parse, rate, tagName, wholeNumber } from '../parse.ts';
import { MAX_BOUND } from './bounds.ts';
import type { OptionTable } from './option.ts';

/** An option that is not given leaves the value as it is. */
const UNCHANGED = { fallback: () => undefined, fallbackDoc: 'as it is' } as const;

/** The changes to a limit or to a worker. */
export const EDIT_OPTIONS = {
  concurrent: {
    doc: 'How much may run at once',
    value: 'N|none',
    parse: orNone(wholeNumber(0, MAX_BOUND)),
    env: [],
    ...UNCHANGED,
  },
  perKey: {
    doc: 'How much may run at once for each key',
    value: 'N|none',
    parse: orNone(wholeNumber(0, MAX_BOUND)),
    env: [],
    ...UNCHANGED,
  },
  rate: {
    doc: 'How many may start in any span of time: 100/1m',
    value: 'N/TIME|none',
    parse: orNone(rate),
    env: [],
    ...UNCHANGED,
  },
  rateBurst: {
    doc: 'How many of them may start at once; by default a tenth',
    value: 'N',
    parse: wholeNumber(1, MAX_BOUND),
    env: [],
    ...UNCHANGED,
  },
  ratePerKey: {
    doc: 'The rate is for each key instead of in total',
    either: true,
    parse: (): boolean => true,
    env: [],
    ...UNCHANGED,
  },
  cost: {
    doc: 'How much cost, such as tokens, may be started in any span of time: 90000/1m',
    value: 'N/TIME|none',
    parse: orNone(rate),
    env: [],
    ...UNCHANGED,
  },
  costBurst: {
    doc: 'How much of it may be started at once; by default a tenth',
    value: 'N',
    parse: wholeNumber(1, MAX_BOUND),
    env: [],
    ...UNCHANGED,
  },
  costPerKey: {
    doc: 'The cost is for each key instead of in total',
    either: true,
    parse: (): boolean => true,
    env: [],
    ...UNCHANGED,
  },
  strategy: {
    doc: `What becomes of a new task when there is no room: ${STRATEGIES.join(', ')}`,
    value: 'STRATEGY',
    parse: oneOf(...STRATEGIES),
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'as it is; queue at first',
  },
  backlog: {
    doc: 'How many may wait at most; a push beyond is refused',
    value: 'N|none',
    parse: orNone(wholeNumber(0, MAX_BOUND)),
    env: [],
    ...UNCHANGED,
  },
  key: {
    doc: 'Only this key of the limit',
    value: 'KEY',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the whole limit',
  },
  pauseFor: {
    doc: 'For how long; must be given',
    flag: 'for',
    value: 'TIME',
    parse: atLeast(1) as Parse<number>,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  by: {
    doc: 'Who changes it, for its history',
    value: 'WHO',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the user of this system',
  },
  add: {
    doc: 'Tag that the worker carries from now on; may be repeated',
    value: 'TAG',
    many: true,
    parse: tagName,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
  remove: {
    doc: 'Tag to take away, if it was given; may be repeated',
    value: 'TAG',
    many: true,
    parse: tagName,
    env: [],
    fallback: () => [],
    fallbackDoc: 'none',
  },
} satisfies OptionTable;
