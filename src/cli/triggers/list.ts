import { loadConfig } from '../../config/load.ts';
import type { TriggerView } from '../../operate/views.ts';
import { printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';
import { actionText, sourceText } from './words.ts';

const NONE = '–';

/** `leasehold triggers list`. */
export const list: Command = {
  name: 'triggers list',
  doc: 'List triggers: what they listen to, what they do, how they last fired',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'triggers list', does: 'which triggers there are, and which are off' },
    { line: 'triggers list --json', does: 'one trigger a line, for programs' },
  ],

  run(args) {
    return showList<TriggerView>(loadConfig(list, args), {
      read: (operator) => operator.call('listTriggers').then(({ triggers }) => triggers),
      show(triggers, out) {
        const now = Date.now();
        const time = (at: number | undefined): string => (at === undefined ? NONE : new Date(at).toISOString());
        const words = (at: number | undefined): string => (at === undefined ? NONE : formatRelative(at, now));
        printList(
          out,
          [
            { head: 'trigger', cell: ({ name }) => name },
            {
              head: 'state',
              cell: ({ enabled }) => (enabled ? 'on' : 'off'),
              paint: ({ enabled }, text) => (enabled ? text : out.paint('yellow', text)),
            },
            { head: 'kind', cell: ({ kind }) => kind },
            { head: 'listens', cell: sourceText },
            { head: 'does', cell: actionText },
            { head: 'fired', cell: ({ fired }) => String(fired), right: true },
            { head: 'last', cell: ({ last }) => time(last?.at), show: ({ last }) => words(last?.at) },
            { head: 'outcome', cell: ({ last }) => last?.outcome ?? NONE },
          ],
          triggers,
        );
        if (out.mode === 'screen' && triggers.length === 0)
          out.note('No triggers yet: "leasehold triggers set NAME JSON" makes one, "triggers apply -f FILE" several.');
      },
      keyOf: ({ name }) => name,
    });
  },
};
