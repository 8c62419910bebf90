import { readGraphFile } from '../../app/graphs/graph-file.ts';
import { type MachineProblem, problemLine } from '../../app/machines.ts';
import { loadCall } from '../../config/load.ts';
import { isEngineError } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold workflows check FILE…`. */
export const check: Command = {
  name: 'workflows check',
  doc: 'Say everything that is wrong with workflows, each problem with its file and line',
  args: [{ name: 'FILE', doc: 'Workflows, in JSON or YAML', many: true }],
  options: ['json'],
  examples: [
    { line: 'workflows check flows/*.json', does: 'one problem a line, and 1 if there is any' },
    { line: 'workflows check hello.json --json', does: 'one object a line, for an editor' },
  ],

  async run(args) {
    const { config, args: files } = loadCall(check, args);
    const out = outFor(config);
    let status: number = EXIT.fine;
    for (const file of files) {
      const problems = await problemsIn(file);
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

/** The others are checked all the same. */
async function problemsIn(file: string): Promise<readonly MachineProblem[]> {
  try {
    return (await readGraphFile(file)).problems;
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const { problem } = (error.details ?? {}) as { readonly problem?: unknown };
    const message =
      error.code === 'NOT_FOUND' ? 'there is no such file' : typeof problem === 'string' ? problem : error.message;
    return [{ file, line: undefined, level: 'error', path: '', message }];
  }
}
