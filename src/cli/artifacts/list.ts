import { loadConfig } from '../../config/load.ts';
import { listArtifacts } from '../../operate/calls/artifact-calls.ts';
import type { ArtifactView } from '../../operate/views.ts';
import { type Column, printList } from '../display/table.ts';
import { createdColumn } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { formatBytes } from '../kit/figures.ts';
import { OPERATOR_OPTIONS } from '../kit/operator-for.ts';
import { showList } from '../kit/show-list.ts';

/** `leasehold artifacts list`. */
export const list: Command = {
  name: 'artifacts list',
  doc: 'List artifacts, the newest first',
  args: [],
  options: ['ofTask', 'ofRun', 'limit', 'watch', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'artifacts list --run nightly/7', does: 'what a run has left behind' },
    { line: 'artifacts list --task 42 --json', does: 'one artifact a line with all its fields, for jq' },
  ],

  run(args) {
    const config = loadConfig(list, args);
    const { ofTask: task, ofRun: run, limit } = config;
    return showList<ArtifactView>(config, {
      read: (operator) => listArtifacts(operator, { task, run }, limit),
      show(artifacts, out) {
        printList(out, columns(Date.now()), artifacts);
        if (out.mode === 'screen' && artifacts.length === 0) out.note(out.paint('dim', 'No artifacts here.'));
      },
      keyOf: ({ id }) => id,
    });
  },
};

function columns(now: number): readonly Column<ArtifactView>[] {
  return [
    { head: 'id', cell: ({ id }) => id },
    { head: 'kind', cell: ({ kind }) => kind },
    { head: 'size', cell: ({ size }) => String(size), show: ({ size }) => formatBytes(size), right: true },
    createdColumn(now),
    { head: 'task', cell: ({ task }) => task },
    { head: 'name', cell: ({ name }) => name, rest: true },
  ];
}
