// Code that may hang, leak or crash belongs in its own process: only a process can be killed. This task starts a program and
// blocks its event loop for ever; when its time is up, both are ended.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { open, task } from 'leasehold';

// The child process imports this module to find the task, so the task is exported.
export const hang = task('hang', {
  isolation: 'process',
  module: import.meta.url,
  timeout: '500ms',
  maxAttempts: 1,
  async run(_input, ctx) {
    const program = spawn('sleep', ['600'], { stdio: 'ignore' });
    ctx.progress({ child: process.pid, program: program.pid });
    await sleep(10); // logs and progress are sent when the event loop turns
    for (;;); // from here on it never turns, so the abort signal is not seen either
  },
});

// Code that must not run in the child comes after this check.
if (import.meta.main) {
  const app = await open('memory:');
  // The times from the abort signal to SIGTERM and from SIGTERM to SIGKILL; the default is 2 s each.
  const worker = app.worker({ tasks: [hang], slots: 1, abortGrace: '200ms', killGrace: '200ms' });
  await worker.start();

  const handle = await app.push(hang, {});
  await handle.result().catch((error: Error) => console.log(error.message));
  for await (const { stream, text } of handle.logs()) if (stream === 'system') console.log(`log: ${text}`);

  const pids = (await handle.progress()) as Record<string, number>;
  for (const [name, pid] of Object.entries(pids)) {
    while (isThere(pid)) await sleep(10); // a dead process is listed until its parent reaps it
    console.log(`the ${name} is gone`);
  }
  await app.close();
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
