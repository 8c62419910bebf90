import { duration, filled, keyText } from '../parse.ts';
import type { OptionTable } from './option.ts';

/** Which entries of the audit. */
export const AUDIT_OPTIONS = {
  auditActor: {
    doc: 'Only what this one has done: the name of a token or a user, or "nobody"',
    flag: 'actor',
    value: 'NAME',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'all',
  },
  auditAction: {
    doc: 'Only this action, such as purgeQueue',
    flag: 'action',
    value: 'ACTION',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'all',
  },
  auditTarget: {
    doc: 'Only what was done to this: its name or id',
    flag: 'target',
    value: 'NAME',
    parse: keyText,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'all',
  },
  since: {
    doc: 'Only what was done within this time',
    value: 'TIME',
    parse: duration,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'all',
  },
} satisfies OptionTable;
