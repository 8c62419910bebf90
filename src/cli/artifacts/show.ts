import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatWhen } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { formatBytes, formatCount } from '../kit/figures.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { ARTIFACT } from './words.ts';

/** `leasehold artifacts show ARTIFACT`. */
export const show: Command = {
  name: 'artifacts show',
  doc: 'Show what is known of an artifact, without its bytes',
  args: [ARTIFACT],
  options: OPERATOR_OPTIONS,
  examples: [
    {
      line: 'artifacts show art_0123456789abcdef0123456789abcdef',
      does: 'its task, its name, its size and its hash',
    },
    { line: 'artifacts show art_0123456789abcdef0123456789abcdef --json', does: 'the same for programs' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(show, args);
    const [id] = words as [string];
    const out = outFor(config);
    const artifact = await withOperator(config, (operator) => operator.call('getArtifact', { params: { id } }));
    if (out.mode === 'json') {
      out.json(artifact);
      return EXIT.fine;
    }
    const { name, type, kind, size, sha256, task, attempt, createdAt } = artifact;
    out.line(out.paint('bold', safeLine(name)));
    out.line(`  ${kind}, ${safeLine(type)}, ${formatBytes(size)} (${formatCount(size)} bytes)`);
    out.line(`  sha256   ${sha256}`);
    out.line(`  task     ${task}, attempt ${attempt}`);
    out.line(`  created  ${formatWhen(createdAt, Date.now())}`);
    if (out.mode === 'screen') out.note(out.paint('dim', `Fetch it: leasehold artifacts get ${id}`));
    return EXIT.fine;
  },
};
