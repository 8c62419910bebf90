/** Handlers that do everything to live on: they ignore that they should stop, and start others which do. */
import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { task } from '../../src/worker/define/task.ts';

interface Brood {
  /** Commands to start, each with the mark of its test among its arguments. */
  readonly commands: readonly (readonly string[])[];
}

function ignoreTerm(): void {
  process.on('SIGTERM', () => {});
}

export const brood = task('brood', {
  queue: 'survivors',
  async run(input) {
    ignoreTerm();
    for (const [file = '', ...args] of (input as Brood).commands) {
      spawn(file, args, { stdio: 'ignore' });
      // A group of its own, of which nobody was told.
      spawn(file, args, { stdio: 'ignore', detached: true });
    }
    await pause(600_000);
  },
});

export const hang = task('hang', {
  queue: 'survivors',
  async run(_input, ctx) {
    ignoreTerm();
    ctx.log(`pid ${process.pid}`);
    await pause(600_000);
  },
});
