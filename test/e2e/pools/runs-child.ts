/** A handler of runs for workers that are processes. What it does is in the prompt. */
import type { RunHandler } from '../../../src/compat/index.ts';

export const runHandler: RunHandler = async (
  runId,
  _,
  { run, attempt, checkpoint, saveCheckpoint, signal, log, conn },
) => {
  if (run.last_job_prompt === 'fine') return { success: true, result: { pid: process.pid, attempt, checkpoint } };
  if (run.last_job_prompt === 'throws') throw new Error(`no ${runId}`);
  if (attempt > 1 || checkpoint !== null) return { success: true, result: { pid: process.pid, attempt, checkpoint } };
  await saveCheckpoint({ page: 7, of: conn.queueName });
  log('the checkpoint is saved');
  // Until somebody stops it.
  await new Promise((_, reject) => {
    const hold = setInterval(() => {}, 60_000);
    signal.addEventListener('abort', () => {
      clearInterval(hold);
      reject(signal.reason);
    });
  });
  return false;
};
