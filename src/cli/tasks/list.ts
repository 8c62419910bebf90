import { loadConfig } from '../../config/load.ts';
import { listTasks } from '../../operate/calls/calls.ts';
import type { TaskView } from '../../operate/views.ts';
import { errorLine } from '../display/error-line.ts';
import type { Out } from '../display/out.ts';
import { reasonWords, stateColumn } from '../display/state.ts';
import { type Column, printList } from '../display/table.ts';
import { createdColumn, formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

/** `leasehold tasks list`. */
export const list: Command = {
  name: 'tasks list',
  doc: 'List tasks, the newest first',
  args: [],
  options: ['queue', 'state', 'limit', 'watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'tasks list --queue papers --state failed', does: 'what failed in one queue, and why' },
    { line: 'tasks list --state running --watch', does: 'what runs, looked at each second' },
    { line: 'tasks list --json --limit 1000', does: 'one task a line with all its fields, for jq' },
  ],

  run(args) {
    const config = loadConfig(list, args);
    const { queue, state, limit } = config;
    return showList<TaskView>(config, {
      read: (operator) => listTasks(operator, { queue, state }, limit),
      show(tasks, out) {
        printList(out, columns(out, Date.now()), tasks);
        const hint = hintFor(tasks.length, limit);
        if (out.mode === 'screen' && hint !== undefined) out.note(out.paint('dim', hint));
      },
      keyOf: ({ id }) => id,
      // A renewed lease is no change.
      comparable: (task) => ({ ...task, leaseExpiresAt: undefined }),
    });
  },
};

function columns(out: Out, now: number): readonly Column<TaskView>[] {
  return [
    { head: 'id', cell: ({ id }) => id },
    stateColumn(out),
    { head: 'queue', cell: ({ queue }) => queue },
    { head: 'handler', cell: ({ handler }) => handler },
    { head: 'tries', cell: ({ tries, maxAttempts }) => `${tries}/${maxAttempts}`, right: true },
    createdColumn(now),
    { head: '', cell: (task) => remark(task, now), paint: (_task, text) => out.paint('dim', text), rest: true },
  ];
}

/** The most useful remark on a task in this state. */
function remark(task: TaskView, now: number): string {
  const { state, error, runAt, worker, cancelRequestedAt, reason } = task;
  switch (state) {
    case 'failed':
      return error === undefined ? (reasonWords(reason) ?? '') : errorLine(error);
    case 'scheduled':
      return runAt === undefined ? '' : `due ${formatRelative(runAt, now)}`;
    case 'running':
      return `${worker ?? ''}${cancelRequestedAt === undefined ? '' : ' (asked to stop)'}`;
    case 'waiting':
      return runAt === undefined ? '' : `goes on ${formatRelative(runAt, now)} at the latest`;
    case 'ready':
    case 'completed':
    case 'cancelled':
      return '';
  }
}

function hintFor(count: number, limit: number): string | undefined {
  if (count === 0) return 'No tasks here. "leasehold push QUEUE" adds one.';
  return count < limit ? undefined : `The newest ${limit}; --limit N shows more, --queue and --state narrow it down.`;
}
