import { type KeptWorkspace, keptWorkspaces } from '../../app/workspaces/places.ts';
import { loadConfig } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { type Column, printList } from '../display/table.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold workspaces list`. */
export const list: Command = {
  name: 'workspaces list',
  doc: 'List the workspaces that lie on this host',
  args: [],
  options: ['orphans', 'workspaceFolder', 'dataDir', 'json'],
  examples: [
    { line: 'workspaces list --orphans', does: 'those that no attempt has: kept, or left by a worker that was killed' },
    { line: 'workspaces list --workspace-folder /srv/workspaces --json', does: 'one workspace a line, for jq' },
  ],

  async run(args) {
    const config = loadConfig(list, args);
    const out = outFor(config);
    const all = await keptWorkspaces(config.workspaceFolder);
    const shown = config.orphans ? all.filter(({ orphan }) => orphan) : all;
    printList(out, COLUMNS, shown);
    if (out.mode === 'screen' && shown.length === 0) out.note(out.paint('dim', 'No workspaces here.'));
    return EXIT.fine;
  },
};

const COLUMNS: readonly Column<KeptWorkspace>[] = [
  { head: 'key', cell: ({ key }) => key },
  { head: 'state', cell: ({ state }) => state },
  { head: 'orphan', cell: ({ orphan }) => (orphan ? 'yes' : 'no') },
  { head: 'source', cell: ({ source = '' }) => source },
  { head: 'path', cell: ({ path = '' }) => path, rest: true },
];
