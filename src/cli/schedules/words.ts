import type { FireView, ScheduleDetailView, ScheduleView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatTime, formatWhen } from '../display/time.ts';

/** When a schedule fires, in one line: `daily 03:00 in Europe/Berlin`. */
export function timesText({ times, timezone }: Pick<ScheduleView, 'times' | 'timezone'>): string {
  const { every, from, ...clock } = times;
  if (every !== undefined) return `every ${every}${from === undefined ? '' : ` from ${from}`}`;
  const [kind = '', value = ''] = Object.entries(clock)[0] ?? [];
  return kind === 'at' ? `at ${value}` : `${kind} ${value} in ${timezone}`;
}

/** What became of a fire time: `fired`, `skipped`, … and the state of its task. */
export function fireText({ outcome, state }: FireView): string {
  return state === undefined ? outcome : `${outcome}, ${state}`;
}

/** Everything about a schedule, as lines for people. */
export function describeSchedule(schedule: ScheduleDetailView, out: Out, now: number): readonly string[] {
  const { name, queue, handler, input, missed, state, next, history } = schedule;
  const dim = (text: string): string => out.paint('dim', text);
  const of = state === 'paused' ? 'if resumed' : 'next';
  return [
    `${out.paint('bold', name)}  ${state}`,
    `${dim('when')}        ${safeLine(timesText(schedule))}`,
    `${dim('missed')}      ${missed}`,
    `${dim('task')}        ${queue}${handler === queue ? '' : ` by ${handler}`} ${safeLine(JSON.stringify(input)).slice(0, 200)}`,
    ...next.map((at, i) => `${dim((i === 0 ? of : '').padEnd(10))}  ${formatWhen(at, now)}`),
    ...history.slice(0, 20).map((fire, i) => {
      const until = fire.before === undefined ? '' : ` until ${formatTime(fire.before)}`;
      const task = fire.task === undefined ? '' : `  ${fire.task}`;
      return `${dim((i === 0 ? 'history' : '').padEnd(10))}  ${formatTime(fire.slot)}${until}  ${fireText(fire)}${task}`;
    }),
  ];
}
