import { DEMANDED_LEVELS } from '../../core/credential/level.ts';
import { filled, oneOf, onOrOff, tagName, workerId } from '../parse.ts';
import type { Option, OptionTable } from './option.ts';

const NONE = { env: [], fallback: () => [], fallbackDoc: 'none' } as const satisfies Partial<Option>;

/** Credentials: who may hold one, and where its value comes from. It is never among the arguments, which other users see. */
export const CREDENTIAL_OPTIONS = {
  credentialWorker: {
    doc: 'Worker that may hold it, by name; may be repeated',
    flag: 'worker',
    value: 'NAME',
    many: true,
    parse: (text) => [workerId(text)],
    ...NONE,
  },
  credentialTag: {
    doc: 'All workers that were given this tag; may be repeated',
    flag: 'tag',
    value: 'TAG',
    many: true,
    parse: tagName,
    ...NONE,
  },
  credentialLevel: {
    doc: 'How a worker must keep it at least; any: as it can',
    flag: 'level',
    value: [...DEMANDED_LEVELS, 'any'].join('|'),
    parse: oneOf(...DEMANDED_LEVELS, 'any'),
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'as it is; any at first',
  },
  credentialFile: {
    doc: 'Read the value from a file instead of the standard input',
    flag: 'file',
    value: 'FILE',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'standard input, or a question on a terminal',
  },
  credentialFields: {
    doc: 'The value is a JSON object of texts: the fields of a credential with several parts',
    flag: 'fields',
    parse: () => true,
    env: [],
    fallback: () => false,
    fallbackDoc: 'off: it is one text',
  },
  credentialType: {
    doc: 'What an object of fields is, as its readers call it',
    flag: 'type',
    value: 'TYPE',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'fields',
  },
  ownCredentials: {
    doc: 'Whether credentials that the worker says it has by itself count, as those of dazflow agents',
    value: 'on|off',
    parse: onOrOff,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'as it is; off at first',
  },
} satisfies OptionTable;
