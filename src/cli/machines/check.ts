import { type MachineProblem, problemLine, problemsOfFile } from '../../app/machines.ts';
import { loadCall } from '../../config/load.ts';
import { isEngineError } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold machines check FILE…`. */
export const check: Command = {
  name: 'machines check',
  doc: 'Say everything that is wrong with machines, strictly, each problem with its file and line',
  args: [{ name: 'FILE', doc: 'Machines, in YAML or JSON', many: true }],
  options: ['json'],
  examples: [
    { line: 'machines check machines/*.yml', does: 'one problem a line, and 1 if there is any' },
    { line: 'machines check order.yml --json', does: 'one object a line, for an editor' },
  ],

  async run(args) {
    const { config, args: files } = loadCall(check, args);
    const out = outFor(config);
    let status: number = EXIT.fine;
    for (const file of files) {
      const problems = await problemsOfFile(file, { strict: true }).catch((error: unknown): MachineProblem[] => {
        // The others are checked all the same.
        if (!isEngineError(error, 'NOT_FOUND')) throw error;
        return [{ file, line: undefined, level: 'error', path: '', message: 'there is no such file' }];
      });
      if (problems.length > 0) status = EXIT.failed;
      for (const problem of problems) {
        if (out.mode === 'json') out.json(problem);
        else out.line(safeLine(problemLine(problem)));
      }
      if (problems.length === 0 && out.mode !== 'json') out.note(`${safeLine(file)} is fine.`);
    }
    return status;
  },
};
