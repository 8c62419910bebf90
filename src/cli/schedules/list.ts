import { loadConfig } from '../../config/load.ts';
import type { ScheduleView } from '../../operate/views.ts';
import { printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';
import { fireText, timesText } from './words.ts';

const NONE = '–';

/** `leasehold schedules list`. */
export const list: Command = {
  name: 'schedules list',
  doc: 'List schedules, when they fire next and what became of the last time',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'schedules list', does: 'which schedules there are, and which are paused' },
    { line: 'schedules list --json', does: 'one schedule a line, for programs' },
  ],

  run(args) {
    return showList<ScheduleView>(loadConfig(list, args), {
      read: (operator) => operator.call('listSchedules').then(({ schedules }) => schedules),
      show(schedules, out) {
        const now = Date.now();
        const time = (at: number | undefined): string => (at === undefined ? NONE : new Date(at).toISOString());
        const words = (at: number | undefined): string => (at === undefined ? NONE : formatRelative(at, now));
        printList(
          out,
          [
            { head: 'schedule', cell: ({ name }) => name },
            {
              head: 'state',
              cell: ({ state }) => state,
              paint: ({ state }, text) => (state === 'active' ? text : out.paint('yellow', text)),
            },
            { head: 'when', cell: timesText },
            { head: 'queue', cell: ({ queue }) => queue },
            { head: 'next', cell: ({ nextAt }) => time(nextAt), show: ({ nextAt }) => words(nextAt) },
            { head: 'last', cell: ({ last }) => time(last?.at), show: ({ last }) => words(last?.at) },
            { head: 'outcome', cell: ({ last }) => (last === undefined ? NONE : fireText(last)) },
          ],
          schedules,
        );
        if (out.mode === 'screen' && schedules.length === 0)
          out.note('No schedules yet: "leasehold schedules set NAME QUEUE --daily 03:00" makes one.');
      },
      keyOf: ({ name }) => name,
    });
  },
};
