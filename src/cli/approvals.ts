import type { ApprovalView } from '../app/operate-waits.ts';
import { loadConfig } from '../config/load.ts';
import type { Command } from './command.ts';
import { type Out, outFor } from './display/out.ts';
import { type Column, printList } from './display/table.ts';
import { formatRelative } from './display/time.ts';
import { EXIT } from './exit.ts';
import { STORE_OPTIONS, withStore } from './with-store.ts';

/** More are never read at once. */
const MOST = 1000;

/** `leasehold approvals`. */
export const approvals: Command = {
  name: 'approvals',
  doc: 'List the tasks that wait for somebody to decide, the oldest first',
  args: [],
  options: STORE_OPTIONS,
  examples: [
    { line: 'approvals', does: 'what is asked, and which actions there are' },
    { line: 'approvals --json', does: 'one a line, with the form and its context' },
  ],

  async run(args) {
    const config = loadConfig(approvals, args);
    const out = outFor(config);
    const found = await withStore(config, (operator) => operator.waits.approvals(MOST));
    printList(out, columns(out, Date.now()), found);
    if (out.mode === 'screen') out.note(out.paint('dim', hintFor(found)));
    return EXIT.fine;
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
  if (first === undefined) return 'Nobody waits for a decision.';
  const more = found.length < MOST ? '' : ` The oldest ${MOST} are shown.`;
  return `"leasehold approve ID" and "leasehold reject ID" decide; --action NAME takes another action.${more}`;
}
