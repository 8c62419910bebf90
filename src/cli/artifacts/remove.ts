import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { actingUser } from '../kit/acting-user.ts';
import type { Command } from '../kit/command.ts';
import { confirm } from '../kit/confirm.ts';
import { EXIT } from '../kit/exit.ts';
import { formatBytes, formatCount } from '../kit/figures.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { ARTIFACT } from './words.ts';

/** `leasehold artifacts remove ARTIFACT…`. */
export const remove: Command = {
  name: 'artifacts remove',
  doc: 'Remove artifacts; their bytes go a little later',
  args: [{ ...ARTIFACT, many: true }],
  options: ['dryRun', 'yes', 'by', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'artifacts remove art_0123456789abcdef0123456789abcdef --yes', does: 'one, without being asked' },
    {
      line: 'artifacts list --task 42 | cut -f1 | xargs leasehold artifacts remove --yes',
      does: 'all of a task',
    },
  ],

  run(args) {
    const { config, args: ids } = loadCall(remove, args);
    const out = outFor(config);
    return withOperator(config, async (operator) => {
      const found = [];
      for (const id of ids) found.push(await operator.call('getArtifact', { params: { id } }));
      const room = formatBytes(found.reduce((sum, { size }) => sum + size, 0));
      const what = `${formatCount(found.length)} ${found.length === 1 ? 'artifact' : 'artifacts'} (${room})`;
      const { dryRun } = config;
      if (!dryRun && !(await confirm({ ask: `Remove ${what}?`, word: 'remove' }, config))) {
        out.note('Nothing was changed.');
        return EXIT.failed;
      }
      const by = actingUser(config.by);
      for (const artifact of found) {
        const { id, name, size } = artifact;
        if (!dryRun) await operator.call('removeArtifact', { params: { id }, by });
        if (out.mode === 'json') out.json({ ...artifact, dryRun });
        else out.line(`${dryRun ? 'Would remove' : 'Removed'} ${id} (${safeLine(name)}, ${formatBytes(size)}).`);
      }
      return EXIT.fine;
    });
  },
};
