import { type FeedEvent, isTaskEvent, type TaskEvent } from '../task/event.ts';
import { isFinal } from '../task/task.ts';
import type { Trigger, TriggerEvent, TriggerKind } from './trigger.ts';

/** What each kind of trigger takes of the events of tasks. Those of workers have no queue and no state. */
const TAKES: Readonly<Partial<Record<TriggerEvent, (event: TaskEvent, trigger: Pick<Trigger, 'states'>) => boolean>>> =
  {
    work_added: ({ change }) => change === 'created',
    task_started: ({ change }) => change === 'claimed',
    task_finished: ({ state }, { states }) => isFinal(state) && (states === undefined || states.includes(state)),
  };

/** Whether an event trigger takes an event of the feed. Lost workers are no events of the feed. */
export function takes({ on, queues, states }: Pick<Trigger, 'on' | 'queues' | 'states'>, event: FeedEvent): boolean {
  if (on === undefined) return false;
  if (!isTaskEvent(event)) return on === 'worker_registered' && event.change === 'registered';
  if (queues !== undefined && !queues.includes(event.queue)) return false;
  return TAKES[on]?.(event, { states }) ?? false;
}

/** Under which name an action is told what has happened. What a person gives is merged with what the trigger has. */
const NAMES: Readonly<Record<Exclude<TriggerKind, 'manual'>, string>> = {
  webhook: 'body',
  event: 'event',
  file: 'file',
};

/** The input of the action. */
export function inputOf(
  { kind, input = {}, tell = true }: Pick<Trigger, 'kind' | 'input' | 'tell'>,
  told: unknown,
): unknown {
  if (told === undefined || !tell) return input;
  if (kind !== 'manual') return isMap(input) ? { ...input, [NAMES[kind]]: told } : input;
  return isMap(input) && isMap(told) ? { ...input, ...told } : told;
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A pattern of names with `*` and `?`, in time that its length bounds. */
export function fits(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  let star = -1;
  let mark = 0;
  while (n < name.length) {
    if (p < pattern.length && pattern[p] === '*') {
      star = p++;
      mark = n;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++mark;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
