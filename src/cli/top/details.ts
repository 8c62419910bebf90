import type { AnswerOf, Client } from '../../client/client.ts';
import type {
  ExplanationView,
  LogLineView,
  QueueView,
  TaskDetailView,
  TaskView,
  WorkerView,
} from '../../operate/views.ts';
import { describeExplanation } from '../display/explain-page.ts';
import { describeLimit } from '../display/limit-page.ts';
import type { Paint } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { paintState, STATES, stateText } from '../display/state.ts';
import { aligned } from '../display/table.ts';
import { describeTask } from '../display/task-page.ts';
import { formatRelative, formatTook, formatWhen } from '../display/time.ts';
import { formatCount } from '../kit/figures.ts';
import { grantRows, permissionRows } from '../workers/grant-words.ts';
import { QUICK_CALL } from './node-poller.ts';
import type { Open } from './state.ts';
import type { Detail } from './view-model.ts';

type Page = Detail['page'];
const NEWEST_TASKS = 50;

/** Reads the page of the open item. */
export async function pageOf(client: Client, open: Open, paint: Paint, signal: AbortSignal): Promise<Page> {
  const ask = { ...QUICK_CALL, signal };
  const { name } = open;
  switch (open.panel) {
    case 'tasks': {
      const params = { id: name };
      const [task, why] = await Promise.all([
        client.call('getTask', { ...ask, params }),
        client.call('explainTask', { ...ask, params }),
      ]);
      return taskPage(task, why, paint);
    }
    case 'limits': {
      const limit = await client.call('getLimit', { ...ask, params: { name } });
      return (columns, now) => describeLimit(limit, { paint, columns, mode: 'screen' }, now).slice(2);
    }
    case 'workers':
      return workerPage(await client.call('getWorker', { ...ask, params: { name } }), paint);
    case 'queues': {
      const [queue, scale, { tasks }] = await Promise.all([
        client.call('getQueue', { ...ask, params: { queue: name } }),
        client.call('scaleQueue', { ...ask, params: { queue: name } }),
        client.call('listTasks', { ...ask, query: { queue: [name], limit: NEWEST_TASKS } }),
      ]);
      return queuePage(queue, scale, tasks, paint);
    }
  }
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** The explanation comes first, while the task has not ended. */
export function taskPage(task: TaskDetailView, why: ExplanationView, paint: Paint): Page {
  return (columns, now) => {
    const out = { paint, columns, mode: 'screen' as const };
    // The title has the first line.
    const facts = describeTask(task, out, now).slice(1);
    if (ENDED.has(task.state)) return facts.slice(1);
    return [...describeExplanation(why, out, now).slice(2), ...facts];
  };
}

export function queuePage(
  queue: QueueView,
  scale: AnswerOf<'scaleQueue'>,
  tasks: readonly TaskView[],
  paint: Paint,
): Page {
  return (columns, now) => [
    fact(paint, 'claims', queue.paused ? paint('yellow', '‖ paused: nothing more is started') : 'open'),
    ...STATES.map((state) => {
      const text = `${stateText(state).padEnd(12)} ${formatCount(queue[state])}`;
      return fact(
        paint,
        state === 'ready' ? 'tasks' : '',
        queue[state] > 0 ? paintState({ paint }, state, text) : paint('dim', text),
      );
    }),
    fact(
      paint,
      'runnable',
      `${formatCount(scale.runnable)} now, ${formatCount(scale.blocked_by_limit)} held back by limits`,
    ),
    fact(paint, 'oldest', scale.oldest_age_s === 0 ? '–' : `has waited ${formatTook(scale.oldest_age_s * 1000)}`),
    fact(paint, 'could use', `${formatCount(scale.desired)} slots`),
    '',
    ...(tasks.length === 0
      ? []
      : aligned<TaskView>(
          [
            { head: 'newest tasks', cell: ({ id }) => id },
            {
              head: 'state',
              cell: ({ state }) => stateText(state),
              paint: ({ state }, text) => paintState({ paint }, state, text),
            },
            { head: 'handler', cell: ({ handler }) => handler },
            { head: 'created', cell: ({ createdAt }) => formatRelative(createdAt, now) },
            { head: 'worker', cell: ({ worker }) => worker ?? '', rest: true },
          ],
          tasks,
          { paint, columns: columns - 2 },
        ).map((line) => `  ${line}`)),
  ];
}

export function workerPage(worker: AnswerOf<'getWorker'>, paint: Paint): Page {
  const { enabled, priority, carries, grant = {}, processes } = worker;
  const { permissions: _, ...bounds } = grant;
  return (_columns, now) => [
    fact(paint, 'takes', enabled ? 'tasks' : paint('yellow', 'nothing more: it is disabled')),
    ...(priority === undefined ? [] : [fact(paint, 'priority', String(priority))]),
    fact(paint, 'tags', safeLine(carries.join(', ')) || '–'),
    ...(Object.keys(bounds).length === 0 ? [] : factRows(paint, 'may run', grantRows(grant, { isThere: true }))),
    ...factRows(paint, 'permitted', permissionRows(grant)),
    ...processes.flatMap((one) => processLines(one, paint, now)),
  ];
}

function processLines(one: WorkerView, paint: Paint, now: number): readonly string[] {
  const where = [one.host, one.pid === undefined ? undefined : `pid ${one.pid}`, one.address]
    .filter(Boolean)
    .join(', ');
  return [
    '',
    fact(paint, 'process', `${safeLine(one.id)} ${safeLine(one.state)}`),
    fact(paint, 'where', safeLine(where) || '–'),
    fact(paint, 'version', safeLine(one.version ?? '–')),
    ...(one.startedAt === undefined ? [] : [fact(paint, 'started', formatWhen(one.startedAt, now))]),
    fact(paint, 'seen', formatWhen(one.lastSeenAt, now)),
    fact(
      paint,
      'slots',
      `${formatCount(one.running)} of ${formatCount(one.slots)} busy, ${formatCount(one.totalTasks)} tasks ended`,
    ),
    fact(paint, 'handlers', safeLine(one.handlers.join(', ')) || '–'),
    fact(paint, 'queues', one.queues === undefined ? 'all' : safeLine(one.queues.join(', '))),
    ...one.currentTasks.map((id, i) => fact(paint, i === 0 ? 'runs' : '', safeLine(id))),
  ];
}

/** Several rows of one fact: each has its own word after the name. */
function factRows(paint: Paint, name: string, rows: readonly (readonly [string, string])[]): readonly string[] {
  return rows.map(([word, text], i) => fact(paint, i === 0 ? name : '', `${word.padEnd(9)} ${text}`));
}

function fact(paint: Paint, name: string, text: string): string {
  return `  ${paint('dim', name.padEnd(9))} ${text}`;
}

const MOST_LINES = 1000;

/** Follows the log of a task until the signal, and reports its last lines. A node that goes away is waited for. */
export async function followLog(
  client: Client,
  id: string,
  tell: (lines: readonly LogLineView[]) => void,
  signal: AbortSignal,
): Promise<void> {
  let lines: LogLineView[] = [];
  for await (const { data } of client.stream('readLog', { params: { id }, signal })) {
    lines.push(JSON.parse(data) as LogLineView);
    if (lines.length > 2 * MOST_LINES) lines = lines.slice(-MOST_LINES);
    tell(lines);
  }
}
