import { loadCall } from '../../config/load.ts';
import { LONG_MS } from '../../operate/calls/calls.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { paintPatch, statOf } from './diff-page.ts';
import { RUN } from './run-ref.ts';

/** `leasehold runs diff RUN`. */
export const diff: Command = {
  name: 'runs diff',
  doc: 'Show what the branch of a loop has that its base has not',
  args: [RUN],
  options: ['stat', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'runs diff count-it', does: 'the patches; a worker with the repository is asked for them' },
    { line: 'runs diff 42 --stat', does: 'the files alone, with how many lines each has won and lost' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(diff, args);
    const [id] = words as [string];
    const out = outFor(config);
    const found = await withOperator(config, (operator) =>
      operator.call('diffLoop', { params: { id }, timeoutMs: LONG_MS }),
    );
    if (out.mode === 'json') {
      out.json(config.stat ? { ...found, files: found.files.map((file) => ({ ...file, patch: undefined })) } : found);
      return EXIT.fine;
    }
    if (config.stat) for (const line of statOf(found, out.paint)) out.line(line);
    // In a pipe they are as git said them: `git apply` takes them.
    else
      for (const { patch } of found.files)
        out.line(trimEnd(out.mode === 'screen' ? paintPatch(patch, out.paint) : patch));
    if (found.truncated && !config.stat) out.note('More was changed than is shown: look at the branch itself.');
    return EXIT.fine;
  },
};

/** The line that it ends with is written anew. */
const trimEnd = (patch: string): string => (patch.endsWith('\n') ? patch.slice(0, -1) : patch);
