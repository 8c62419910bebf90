/** Tasks of a workspace that run in processes of their own. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceSpec } from '../../../src/core/workspace/workspace.ts';
import { task } from '../../../src/worker/define/task.ts';

export interface StepInput {
  readonly repo: string;
  readonly branch: string;
  readonly line: string;
  readonly publish?: 'push' | 'bundle';
}

export function workspaceOf(input: unknown): WorkspaceSpec {
  const { repo, branch, publish } = input as StepInput;
  return { source: 'git', repo, branch, ...(publish === undefined ? {} : { publish }) };
}

/** Adds a line to a file of the branch, commits it, and says what it saw. */
export const childStep = task('child-step', {
  isolation: 'process',
  module: import.meta.url,
  retry: { baseMs: 1 },
  workspace: workspaceOf,
  run: async (input, { workspace }) => {
    const { line } = input as StepInput;
    const file = join(workspace.path, 'work.txt');
    appendFileSync(file, `${line}\n`);
    const commit = await workspace.commitAll(`Add ${line}`);
    const { commits } = await workspace.diff();
    return {
      commit,
      began: workspace.commit,
      changed: commits.length,
      text: readFileSync(file, 'utf8'),
      cwd: process.cwd(),
    };
  },
});
