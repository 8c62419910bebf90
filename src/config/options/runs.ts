import { filled, jsonMap, keyText } from '../parse.ts';
import type { OptionTable } from './option.ts';

/** Which runs, and what becomes of one. */
export const RUN_OPTIONS = {
  runName: {
    doc: 'The name of the run; in a list what the names begin with',
    flag: 'name',
    value: 'NAME',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  cancelReason: {
    doc: 'Why; it is kept with the run',
    flag: 'reason',
    value: 'TEXT',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'none',
  },
  upTo: {
    doc: 'The node of the workflow with which the run ends, by its id',
    value: 'NODE',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'all run',
  },
  trigger: {
    doc: 'The trigger of the workflow that fires, by its id',
    value: 'NODE',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'all fire',
  },
  forkStep: {
    doc: 'The step after which the fork goes on, by its key, or "start"',
    flag: 'step',
    value: 'KEY',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'the last',
  },
  changes: {
    doc: 'Entries of the context to change; null takes one away',
    flag: 'set',
    value: 'JSON',
    parse: jsonMap,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'nothing',
  },
} as const satisfies OptionTable;
