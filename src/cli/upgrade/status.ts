import { loadConfig } from '../../config/load.ts';
import type { UpgradeStatusView } from '../../operate/views.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { type Column, printTable } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { policyWords } from './policy-words.ts';

type Row = UpgradeStatusView['workers'][number];

/** `leasehold upgrade status`. */
export const status: Command = {
  name: 'upgrade status',
  doc: 'Show which release each worker runs, which it should run, and what its updater says',
  args: [],
  options: OPERATOR_OPTIONS,
  examples: [
    { line: 'upgrade status', does: 'who has come how far' },
    { line: 'upgrade status --json', does: 'one object, as GET /api/v1/upgrade answers' },
  ],

  async run(args) {
    const config = loadConfig(status, args);
    const out = outFor(config);
    const found = await withOperator(config, (operator) => operator.call('getUpgrade'));
    if (out.mode === 'json') out.json(found);
    else {
      printTable(out, columns(out), found.workers);
      out.line(policyWords(found));
    }
    return EXIT.fine;
  },
};

function columns(out: Out): readonly Column<Row>[] {
  return [
    { head: 'worker', cell: ({ name }) => safeLine(name) },
    { head: 'state', cell: ({ state }) => state },
    { head: 'release', cell: ({ version = '–' }) => safeLine(version) },
    { head: 'protocol', cell: ({ protocol }) => (protocol === undefined ? '–' : protocol.join('–')) },
    {
      head: 'wanted',
      cell: ({ wanted = '–' }) => wanted,
      paint: ({ wanted }, text) => (wanted === undefined ? text : out.paint('yellow', text)),
    },
    { head: 'updater', cell: updaterWords, rest: true },
  ];
}

function updaterWords({ updater }: Row): string {
  if (updater === undefined) return 'none';
  const { state, until, problem } = updater;
  const time = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  return safeLine(`${state}${time}${problem === undefined ? '' : `: ${problem}`}`);
}
