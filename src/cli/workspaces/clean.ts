import { cleanWorkspaces, keptWorkspaces } from '../../app/workspaces/places.ts';
import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold workspaces clean [KEY…|--orphans]`. */
export const clean: Command = {
  name: 'workspaces clean',
  doc: 'Remove workspaces of this host that no attempt has',
  args: [{ name: 'KEY', doc: 'Of "workspaces list"', optional: true, many: true }],
  options: ['orphans', 'dryRun', 'yes', 'workspaceFolder', 'dataDir', 'json'],
  examples: [
    { line: 'workspaces clean --orphans --dry-run', does: 'say what would go' },
    { line: 'workspaces clean --orphans --yes', does: 'all that no attempt has, without being asked' },
  ],

  async run(args) {
    const { config, args: asked } = loadCall(clean, args);
    const { orphans, workspaceFolder: folder, dryRun } = config;
    const out = outFor(config);
    if (orphans === asked.length > 0)
      throw fault('INVALID_INPUT', { field: 'KEY', problem: 'name some, or --orphans' });
    const all = await keptWorkspaces(folder);
    for (const key of asked) {
      const found = all.find((one) => one.key === key);
      if (found === undefined) throw fault('NOT_FOUND', { kind: 'workspace', id: key });
      if (!found.orphan) throw fault('CONFLICT', { problem: `an attempt works in ${key}` });
    }
    const going = orphans ? all.filter((one) => one.orphan).map(({ key }) => key) : asked;
    const what = `${going.length} ${going.length === 1 ? 'workspace' : 'workspaces'}`;
    if (!dryRun && going.length > 0 && !(await confirm({ ask: `Remove ${what}?`, word: 'clean' }, config))) {
      out.note('Nothing was changed.');
      return EXIT.failed;
    }
    const gone = dryRun ? going : await cleanWorkspaces(folder, going);
    for (const key of gone) {
      if (out.mode === 'json') out.json({ key, dryRun });
      else out.line(`${dryRun ? 'Would remove' : 'Removed'} ${key}.`);
    }
    return gone.length === going.length ? EXIT.fine : EXIT.failed;
  },
};
