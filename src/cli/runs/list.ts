import { loadConfig } from '../../config/load.ts';
import { listRuns } from '../../operate/calls/run-calls.ts';
import type { RunView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { stateColumn } from '../display/state.ts';
import { type Column, printList } from '../display/table.ts';
import { createdColumn, formatTook } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

/** `leasehold runs list`. */
export const list: Command = {
  name: 'runs list',
  doc: 'List runs, the newest first',
  args: [],
  options: ['state', 'runName', 'machineName', 'limit', 'watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'runs list --state failed', does: 'those that failed' },
    { line: 'runs list --name nightly/', does: 'those whose name begins so' },
    { line: 'runs list --machine writer --json', does: 'those of one machine, one a line with all fields' },
  ],

  run(args) {
    const config = loadConfig(list, args);
    const { state, runName: name, machineName: title, limit } = config;
    return showList<RunView>(config, {
      read: (operator) => listRuns(operator, { state, name, title }, limit),
      show(runs, out) {
        printList(out, columns(out, Date.now()), runs);
        if (out.mode === 'screen' && runs.length === 0) out.note(out.paint('dim', NONE));
      },
      keyOf: ({ id }) => id,
    });
  },
};

const NONE = 'No runs here. "leasehold run FILE --store URL" starts one.';
function columns(out: Out, now: number): readonly Column<RunView>[] {
  return [
    { head: 'id', cell: ({ id }) => id },
    stateColumn(out),
    { head: 'kind', cell: ({ kind }) => kind },
    { head: 'what', cell: ({ title }) => title },
    createdColumn(now),
    {
      head: 'took',
      cell: ({ createdAt, finishedAt }) => (finishedAt === undefined ? '' : formatTook(finishedAt - createdAt)),
      right: true,
    },
    { head: 'name', cell: ({ name = '' }) => name, rest: true },
  ];
}
