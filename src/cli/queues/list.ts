import { loadConfig } from '../../config/load.ts';
import type { QueueView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { paintState, STATES } from '../display/state.ts';
import { type Column, printList } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { formatCount } from '../kit/figures.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

/** `leasehold queues list`. */
export const list: Command = {
  name: 'queues list',
  doc: 'List queues with the number of their tasks in each state',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'queues list', does: 'how much waits, runs and has failed' },
    { line: 'queues list --json', does: 'one queue a line, for programs' },
  ],

  run(args) {
    return showList<QueueView>(loadConfig(list, args), {
      read: (operator) => operator.call('listQueues').then(({ queues }) => queues),
      show(queues, out) {
        printList(out, columns(out), queues);
        if (out.mode === 'screen' && queues.length === 0) out.note('No queues yet: the first push makes one.');
      },
      keyOf: ({ name }) => name,
    });
  },
};

function columns(out: Out): readonly Column<QueueView>[] {
  return [
    {
      head: 'queue',
      cell: ({ name }) => name,
      show: ({ name, paused }) => (paused ? `${name} ‖ paused` : name),
      paint: ({ paused }, text) => (paused ? out.paint('yellow', text) : text),
    },
    ...STATES.map(
      (state): Column<QueueView> => ({
        head: state,
        cell: (queue) => String(queue[state]),
        show: (queue) => formatCount(queue[state]),
        paint: (queue, text) => (queue[state] > 0 ? paintState(out, state, text) : out.paint('dim', text)),
        right: true,
      }),
    ),
    ...(out.mode === 'screen'
      ? []
      : [{ head: 'paused', cell: ({ paused }: QueueView) => (paused ? 'paused' : 'open') }]),
  ];
}
