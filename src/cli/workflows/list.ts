import { loadConfig } from '../../config/load.ts';
import type { Operator } from '../../operate/operator.ts';
import type { WorkflowView } from '../../operate/views.ts';
import { printList } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

const NONE = '–';
const PAGE = 500;

/** `leasehold workflows list`. */
export const list: Command = {
  name: 'workflows list',
  doc: 'List stored workflows: their versions, whether they are on, and when they start next',
  args: [],
  options: ['watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'workflows list', does: 'which there are, and which are off' },
    { line: 'workflows list --json', does: 'one workflow a line, for programs' },
  ],

  run(args) {
    return showList<WorkflowView>(loadConfig(list, args), {
      read: (operator) => all(operator),
      show(workflows, out) {
        const time = (at: number | undefined): string => (at === undefined ? NONE : new Date(at).toISOString());
        printList(
          out,
          [
            { head: 'workflow', cell: ({ name }) => name },
            { head: 'version', cell: ({ version }) => String(version), right: true },
            {
              head: 'state',
              cell: ({ enabled }) => (enabled ? 'on' : 'off'),
              paint: ({ enabled }, text) => (enabled ? text : out.paint('yellow', text)),
            },
            { head: 'triggers', cell: ({ triggers }) => String(triggers.length), right: true },
            { head: 'next', cell: ({ triggers }) => time(earliest(triggers)) },
            { head: 'applied', cell: ({ at }) => time(at) },
            { head: 'by', cell: ({ by = NONE }) => by, rest: true },
          ],
          workflows,
        );
        if (out.mode === 'screen' && workflows.length === 0)
          out.note('No workflows yet: "leasehold workflows apply -f FILE" stores one.');
      },
      keyOf: ({ name }) => name,
    });
  },
};

function earliest(triggers: WorkflowView['triggers']): number | undefined {
  const times = triggers.flatMap(({ nextAt }) => nextAt ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

async function all(operator: Operator): Promise<readonly WorkflowView[]> {
  const found: WorkflowView[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const page = await operator.call('listWorkflows', { query });
    found.push(...page.workflows);
    cursor = page.cursor;
    if (cursor === undefined) return found;
  }
}
