import { loadCall } from '../../config/load.ts';
import type { WorkflowVersionView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import { printList } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { NAME } from './name.ts';

/** `leasehold workflows versions NAME`. */
export const versions: Command = {
  name: 'workflows versions',
  doc: 'List the versions of a stored workflow, the newest first: who made them and when',
  args: [NAME],
  options: ['limit', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workflows versions nightly', does: 'the last 20' },
    { line: 'workflows versions nightly --json', does: 'one a line, for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(versions, args);
    const [name] = words as [string];
    const found = await withOperator(config, async (operator) => {
      const all: WorkflowVersionView[] = [];
      for (let cursor: string | undefined; all.length < config.limit; ) {
        const query = { limit: Math.min(500, config.limit - all.length), ...(cursor === undefined ? {} : { cursor }) };
        const page = await operator.call('listWorkflowVersions', { params: { name }, query });
        all.push(...page.versions);
        cursor = page.cursor;
        if (cursor === undefined) break;
      }
      return all;
    });
    printList(
      outFor(config),
      [
        { head: 'version', cell: ({ version }) => String(version), right: true },
        { head: 'at', cell: ({ at }) => new Date(at).toISOString() },
        { head: 'text', cell: ({ definition }) => definition.slice(0, 12) },
        { head: 'restored', cell: ({ restored }) => (restored === undefined ? '–' : `from ${restored}`) },
        { head: 'by', cell: ({ by = '–' }) => by, rest: true },
      ],
      found,
    );
    return EXIT.fine;
  },
};
