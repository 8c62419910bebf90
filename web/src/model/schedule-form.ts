/** When a schedule fires, as a form has it, and as the node takes it. */

export const KINDS = ['daily', 'weekly', 'monthly', 'every', 'cron', 'at'] as const;
export type ScheduleKind = (typeof KINDS)[number];

export const KIND_WORDS: Readonly<Record<ScheduleKind, string>> = {
  daily: 'Daily',
  weekly: 'Weekly',
  monthly: 'Monthly',
  every: 'Interval',
  cron: 'Cron',
  at: 'Once',
};

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export interface ScheduleDraft {
  readonly kind: ScheduleKind;
  /** Of a day: `09:30`. */
  readonly time: string;
  readonly weekdays: readonly string[];
  /** Of a month: `1,15`, or `last`. */
  readonly monthdays: string;
  readonly every: string;
  readonly from: string;
  readonly cron: string;
  /** `2026-12-24T18:00` */
  readonly at: string;
  readonly timezone: string;
}

interface Times {
  readonly cron?: string | undefined;
  readonly every?: string | undefined;
  readonly from?: string | undefined;
  readonly at?: string | undefined;
  readonly daily?: string | undefined;
  readonly weekly?: string | undefined;
  readonly monthly?: string | undefined;
}

export function newSchedule(timezone: string): ScheduleDraft {
  return {
    kind: 'daily',
    time: '09:00',
    weekdays: ['mon'],
    monthdays: '1',
    every: '15m',
    from: '',
    cron: '0 9 * * mon-fri',
    at: '',
    timezone,
  };
}

/** The form of a schedule that there is. What a form cannot show, such as days as a range, is shown as its cron expression or text. */
export function scheduleDraft(times: Times, timezone: string): ScheduleDraft {
  const draft = newSchedule(timezone);
  if (times.every !== undefined) return { ...draft, kind: 'every', every: times.every, from: times.from ?? '' };
  if (times.at !== undefined) return { ...draft, kind: 'at', at: times.at };
  if (times.daily !== undefined) return { ...draft, kind: 'daily', time: times.daily };
  const [days, time] = (times.weekly ?? times.monthly ?? '').split('@');
  if (times.weekly !== undefined) return { ...draft, kind: 'weekly', weekdays: daysIn(days ?? ''), time: time ?? '' };
  if (times.monthly !== undefined) return { ...draft, kind: 'monthly', monthdays: days ?? '', time: time ?? '' };
  return { ...draft, kind: 'cron', cron: times.cron ?? '' };
}

/** `mon-fri,sun` as single days, in the order of the week. */
function daysIn(text: string): readonly string[] {
  const place = (name: string): number => {
    const at = DAYS.indexOf(name.slice(0, 3).toLowerCase() as (typeof DAYS)[number]);
    // Numbers, as cron has them: 0 and 7 are Sunday.
    return at !== -1 ? at : /^[0-7]$/.test(name) ? (Number(name) + 6) % 7 : -1;
  };
  const found = new Set<string>();
  for (const part of text.split(',')) {
    const [first = '', last = first] = part.trim().split('-');
    const [from, to] = [place(first), place(last)];
    if (from === -1 || to === -1) continue;
    for (let i = from; ; i = (i + 1) % 7) {
      found.add(DAYS[i] as string);
      if (i === to) break;
    }
  }
  return DAYS.filter((day) => found.has(day));
}

/** What the node is given. Undefined: something is not written yet. */
export function timesOfDraft(draft: ScheduleDraft): Times | undefined {
  const { kind, time, weekdays, monthdays, every, from, cron, at } = draft;
  const has = (...texts: readonly string[]): boolean => texts.every((text) => text.trim() !== '');
  switch (kind) {
    case 'daily':
      return has(time) ? { daily: time } : undefined;
    case 'weekly':
      return has(time) && weekdays.length > 0
        ? { weekly: `${DAYS.filter((day) => weekdays.includes(day)).join(',')}@${time}` }
        : undefined;
    case 'monthly':
      return has(time, monthdays) ? { monthly: `${monthdays.replaceAll(' ', '')}@${time}` } : undefined;
    case 'every':
      return has(every) ? { every: every.trim(), ...(has(from) ? { from: from.trim() } : {}) } : undefined;
    case 'cron':
      return has(cron) ? { cron: cron.trim() } : undefined;
    case 'at':
      return has(at) ? { at } : undefined;
  }
}

/** The field of the form to which an error of the node belongs; undefined: to none. */
export function fieldOfProblem(field: unknown, kind: ScheduleKind): string | undefined {
  if (typeof field !== 'string') return undefined;
  if (field === 'schedule name') return 'name';
  const [first = ''] = field.split(/[.[ ]/);
  if (first === 'schedule' || first === 'expression' || (KINDS as readonly string[]).includes(first)) return kind;
  if (
    [
      'from',
      'timezone',
      'missed',
      'name',
      'queue',
      'handler',
      'timeout',
      'priority',
      'maxAttempts',
      'limits',
      'input',
    ].includes(first)
  )
    return first;
  return first === 'placement' || first === 'requires' ? 'requires' : undefined;
}

/** A message without the words that its field says already. */
export function problemText(details: unknown, message: string): string {
  const { problem } = (typeof details === 'object' && details !== null ? details : {}) as {
    readonly problem?: unknown;
  };
  return typeof problem === 'string' ? problem : message;
}
