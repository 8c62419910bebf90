/** The handler `loop-git` of a worker: git is loaded with the first of its tasks. */
import { fault } from '../../core/errors.ts';
import { LOOP_GIT } from '../../flow/loop/git/git-task.ts';
import { MACHINE_QUEUE } from '../../flow/machine/machine-run.ts';
import type { AnyTask, DrivenAttempt } from '../../worker/define/definition.ts';
import { task } from '../../worker/define/task.ts';
import { rootsOf, tagsOf } from '../../worker/loop/loop-host.ts';
import type { RunOutcome } from '../../worker/runner/runner.ts';

/** On workers that have roots, or make workspaces of git; they serve the queue of machines. */
export function loopGitHandler(loopRoots: Readonly<Record<string, string>>): AnyTask {
  const roots = rootsOf(loopRoots);
  const definition = task(LOOP_GIT, {
    queue: MACHINE_QUEUE,
    maxAttempts: 1,
    run: () => {
      throw fault('CONFLICT', { problem: 'it needs a worker' });
    },
  });
  const drive = async (input: unknown, { signal, workspaces }: DrivenAttempt): Promise<RunOutcome> => {
    const { reviewWork } = await import('../../worker/loop/loop-git.ts');
    return { kind: 'done', result: await reviewWork({ roots }, input, signal, workspaces) };
  };
  return Object.freeze({ ...definition, drive, givesWay: true, workerTags: tagsOf(Object.keys(loopRoots)) });
}
