import { MISSED_POLICIES } from '../../core/schedule/due.ts';
import { filled, oneOf, wholeNumber } from '../parse.ts';
import type { OptionTable } from './option.ts';

const NOT_SO = { env: [], fallback: () => undefined, fallbackDoc: 'none' } as const;

/** When a schedule fires: one of the first six. */
export const SCHEDULE_OPTIONS = {
  cron: {
    doc: 'Fires by a cron expression of five fields, or six with the second first',
    value: 'CRON',
    parse: filled,
    ...NOT_SO,
  },
  every: { doc: 'Fires in steps of this length, counted from 1970', value: 'TIME', parse: filled, ...NOT_SO },
  at: {
    doc: 'Fires once: 2026-12-24T18:00, on the clocks of the zone unless it ends with Z or an offset',
    value: 'WHEN',
    parse: filled,
    ...NOT_SO,
  },
  daily: { doc: 'Fires each day: 09:30', value: 'HH:MM', parse: filled, ...NOT_SO },
  weekly: { doc: 'Fires on days of the week: mon,wed@09:30', value: 'DAYS@HH:MM', parse: filled, ...NOT_SO },
  monthly: {
    doc: 'Fires on days of the month: 1,15@09:30, or last@09:30',
    value: 'DAYS@HH:MM',
    parse: filled,
    ...NOT_SO,
  },
  timezone: {
    doc: 'The clocks that it follows: an IANA name',
    value: 'ZONE',
    parse: filled,
    env: [],
    fallback: () => 'UTC',
  },
  missed: {
    doc: 'What becomes of fire times that nobody could fire: none, the latest, or all of them up to a hundred',
    value: MISSED_POLICIES.join('|'),
    parse: oneOf(...MISSED_POLICIES),
    env: [],
    fallback: () => 'latest' as const,
  },
  times: { doc: 'How many fire times to print', value: 'N', parse: wholeNumber(1, 100), env: [], fallback: () => 5 },
} satisfies OptionTable;
