import { loadConfig } from '../../config/load.ts';
import type { ApprovalView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { type Column, printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

/** The most that one call reads, here and in a node. */
const MOST = 500;

/** `leasehold approvals`. */
export const approvals: Command = {
  name: 'approvals',
  doc: 'List the tasks that wait for a decision, the oldest first',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'approvals', does: 'what is asked, and which actions there are' },
    { line: 'approvals --json', does: 'one a line, with the form and its context' },
  ],

  run(args) {
    return showList<ApprovalView>(loadConfig(approvals, args), {
      read: (operator) => operator.call('listApprovals', { query: { limit: MOST } }).then(({ approvals }) => approvals),
      show(found, out) {
        printList(out, columns(out, Date.now()), found);
        if (out.mode === 'screen') out.note(out.paint('dim', hintFor(found)));
      },
      keyOf: ({ id, key }) => `${id} ${key}`,
    });
  },
};

function columns(out: Out, now: number): readonly Column<ApprovalView>[] {
  const time = (at: number | undefined): string => (at === undefined ? '–' : new Date(at).toISOString());
  return [
    { head: 'id', cell: ({ id }) => id },
    { head: 'actions', cell: ({ actions }) => actions.join(',') },
    { head: 'since', cell: ({ since }) => time(since), show: ({ since }) => formatRelative(since, now) },
    {
      head: 'until',
      cell: ({ deadline }) => time(deadline),
      show: ({ deadline }) => (deadline === undefined ? '–' : formatRelative(deadline, now)),
      paint: ({ deadline }, text) => (deadline === undefined ? text : out.paint('yellow', text)),
    },
    { head: 'queue', cell: ({ queue }) => queue },
    { head: 'handler', cell: ({ handler }) => handler },
    { head: 'asks', cell: ({ title }) => String(title), rest: true },
  ];
}

function hintFor(found: readonly ApprovalView[]): string {
  const [first] = found;
  if (first === undefined) return 'No task waits for a decision.';
  const more = found.length < MOST ? '' : ` The oldest ${MOST} are shown.`;
  return `"leasehold approve ID" and "leasehold reject ID" decide; --action NAME takes another action.${more}`;
}
