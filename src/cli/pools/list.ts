import { loadConfig } from '../../config/load.ts';
import type { PoolDetailView } from '../../operate/views.ts';
import { printList } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';
import { boundsText, courseText, reasonsText, staffText, workText } from './words.ts';

/** `leasehold pools list`. */
export const list: Command = {
  name: 'pools list',
  doc: 'List pools: how many workers there are, what waits, and what a check would do',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'pools list --watch', does: 'workers come and go with the work' },
    { line: 'pools list --json', does: 'one pool a line, for programs' },
  ],

  run(args) {
    return showList<PoolDetailView>(loadConfig(list, args), {
      read: (operator) => operator.call('listPools').then(({ pools }) => pools),
      show(pools, out) {
        printList(
          out,
          [
            { head: 'pool', cell: ({ name }) => name },
            { head: 'size', cell: boundsText },
            { head: 'want', cell: ({ now }) => String(now.want), right: true },
            { head: 'workers', cell: ({ now }) => staffText(now) },
            { head: 'tasks', cell: ({ now }) => workText(now) },
            { head: 'next', cell: ({ now }) => courseText(now) },
            { head: 'why', cell: ({ now }) => reasonsText(now.reasons), rest: true },
          ],
          pools,
        );
        if (out.mode === 'screen' && pools.length === 0)
          out.note('No pools yet: "leasehold pools set NAME --max 10" makes one.');
      },
      keyOf: ({ name }) => name,
    });
  },
};
