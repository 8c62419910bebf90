import { environment } from '../../config/environment.ts';
import { signalGroup } from '../../worker/handlers/process-group.ts';
import { onGroupReport } from '../../worker/runner/child/group-reports.ts';
import { guardPrograms } from '../../worker/runner/process/program-guard.ts';

/**
 * From now on no program of an agent outlives this process, however it ends. Each has a process group of its own, so that the terminal
 * does not reach it; and a process that is told twice to stop does not wait for those that take their time.
 */
export function endProgramsWithProcess(): void {
  guardPrograms({ path: environment().PATH, warn: () => {} });
  const groups = new Set<number>();
  onGroupReport((group, gone) => void (gone ? groups.delete(group) : groups.add(group)));
  process.on('exit', () => {
    for (const group of groups) signalGroup(group, 'SIGKILL');
  });
}
