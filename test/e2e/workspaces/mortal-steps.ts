/** A task whose first attempt waits in the middle of its work, until its worker is killed. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { task } from '../../../src/worker/define/task.ts';
import { type StepInput, workspaceOf } from './steps-child.ts';

export const mortalStep = task('mortal-step', {
  retry: { baseMs: 1 },
  workspace: workspaceOf,
  run: async (input, { workspace }) => {
    const { line } = input as StepInput;
    const mark = process.env['MARK'] as string;
    const file = join(workspace.path, 'work.txt');
    appendFileSync(file, `${line}\n`);
    await workspace.commitAll(`Add ${line}`);
    if (!existsSync(mark)) {
      writeFileSync(mark, 'committed');
      await delay(600_000);
    }
    return { text: readFileSync(file, 'utf8') };
  },
});
