import type { TaskEvent } from '../../src/core/task/event.ts';
import type { TaskRecord } from '../../src/store/store.ts';
import { ANY_TEXT, leaseName, type ModelTask, must, type Note } from './model-parts.ts';

/** Records and events as they are, against what the model says. */

export function compareTask(record: TaskRecord, task: ModelTask, key: string | undefined): void {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['queue', record.queue, task.queue],
    ['handler', record.handler, task.handler],
    ['state', record.state, task.state],
    ['reason', record.reason, task.reason],
    ['priority', record.priority, task.priority],
    ['attempt', record.attempt, task.attempt],
    ['tries', record.tries, task.tries],
    ['maxTries', record.maxTries, task.maxTries],
    ['bounces', record.bounces, task.bounces],
    ['holder', record.holder, task.worker],
    ['createdAt', record.createdAt, task.createdAt],
    ['startedAt', record.startedAt, task.startedAt],
    ['finishedAt', record.finishedAt, task.finishedAt],
    ['runAt', record.runAt, task.runAt],
    ['leaseUntil', record.leaseUntil, task.leaseUntil],
    ['cancelRequestedAt', record.cancelRequestedAt, task.cancelRequestedAt],
    ['payload', record.payload, task.payload],
    ['result', task.result === ANY_TEXT ? ANY_TEXT : record.result, task.result],
    ['unique', record.unique, key],
  ];
  for (const [field, have, want] of pairs) {
    if (!Object.is(have, want)) throw new Error(`${field} of task ${task.id} is ${show(have)}, not ${show(want)}`);
  }
  must(record.tries <= record.maxTries, `task ${task.id} has used ${record.tries} of ${record.maxTries} tries`);
  must(record.tries <= record.attempt, `task ${task.id} has more tries than attempts`);
  const running = record.state === 'running';
  must(running === (record.leaseUntil !== undefined), `task ${task.id} is ${record.state} with a lease`);
}

export function sameNote(note: Note, event: TaskEvent): boolean {
  const { change, state, attempt, at } = note;
  return change === event.change && state === event.state && attempt === event.attempt && at === event.at;
}

export function tell({ change, state, task, attempt, at }: Note): string {
  return `${change} of task ${leaseName(task, attempt)} to ${state} at ${at}`;
}

function show(value: unknown): string {
  return Object.is(value, -0) ? '-0' : (JSON.stringify(value)?.slice(0, 120) ?? 'undefined');
}
