import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { printList } from '../display/table.ts';
import { formatRelative } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME, reasonsText, staffText, workText } from './words.ts';

/** `leasehold pools decisions POOL`. */
export const decisions: Command = {
  name: 'pools decisions',
  doc: 'List what was decided about a pool and why, the newest first',
  args: [NAME],
  options: ['limit', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'pools decisions papers', does: 'why workers were started and sent home' },
    { line: 'pools decisions papers --limit 200 --json', does: 'all that are kept, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(decisions, args);
    const [name] = words as [string];
    const out = outFor(config);
    const found = await withOperator(config, async (operator) => {
      const ask = { params: { name }, query: { limit: config.limit } };
      return (await operator.call('listPoolDecisions', ask)).decisions;
    });
    const now = Date.now();
    printList(
      out,
      [
        { head: 'when', cell: ({ at }) => new Date(at).toISOString(), show: ({ at }) => formatRelative(at, now) },
        { head: 'want', cell: ({ want }) => String(want), right: true },
        { head: 'started', cell: ({ launched }) => String(launched), right: true },
        { head: 'sent home', cell: ({ drained }) => String(drained), right: true },
        { head: 'workers', cell: staffText },
        { head: 'tasks', cell: workText },
        { head: 'why', cell: ({ reasons }) => reasonsText(reasons), rest: true },
      ],
      found,
    );
    return EXIT.fine;
  },
};
