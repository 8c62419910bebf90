/** The handler `loop-git` of a worker: git is loaded with the first of its tasks. */
import { LOOP_GIT } from '../../flow/loop/git-task.ts';
import { MACHINE_QUEUE } from '../../flow/machine/machine-run.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import { task } from '../../worker/define/task.ts';
import { rootsOf, tagsOf } from '../../worker/loop/loop-host.ts';

/** On workers that have roots; they serve the queue of machines. */
export function loopGitHandler(loopRoots: Readonly<Record<string, string>>): AnyTask {
  const definition = task(LOOP_GIT, {
    queue: MACHINE_QUEUE,
    maxAttempts: 1,
    run: async (input, { signal }) => {
      const { reviewWork } = await import('../../worker/loop/loop-git.ts');
      return reviewWork({ roots: rootsOf(loopRoots) }, input, signal);
    },
  });
  return Object.freeze({ ...definition, givesWay: true, workerTags: tagsOf(Object.keys(loopRoots)) });
}
