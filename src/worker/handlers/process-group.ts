import { setTimeout as delay } from 'node:timers/promises';
import { HAS_PROCESS_TABLE, processTable } from '../runner/process/process-table.ts';

const LOOK_MS = 10;
/** A killed process is gone in a moment, unless it hangs in the kernel. */
const DEATH_MS = 500;

export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: the group is empty. EPERM: another user's; the next check sees that it lives.
  }
}

/** While one member is left, the number of the group cannot be reused. */
export async function groupLives(leader: number): Promise<boolean> {
  try {
    process.kill(-leader, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  // Zombies answer until they are reaped, and in many containers nothing reaps them.
  return !HAS_PROCESS_TABLE || (await processTable()).some(({ group }) => group === leader);
}

/** Waits for the group to end by itself while `patient` returns true, then kills it. True when the group is empty. */
export async function endGroup(leader: number, patient: () => boolean): Promise<boolean> {
  let lives = await groupLives(leader);
  for (; lives && patient(); lives = await groupLives(leader)) await delay(LOOK_MS);
  const deadline = performance.now() + DEATH_MS;
  for (; lives && performance.now() < deadline; lives = await groupLives(leader)) {
    // Sent each time, because one of them may have been about to fork.
    signalGroup(leader, 'SIGKILL');
    await delay(LOOK_MS);
  }
  return !lives;
}
