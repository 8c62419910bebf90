import { writeSync } from 'node:fs';
import type { FromChild } from './messages.ts';

/** How long a full channel is left alone before the next try. The worker reads all the time, so it is seldom full for longer. */
const PAUSE_MS = 1;

/**
 * Messages to the worker, written before the call returns: one line of JSON each, as Node documents its channel. `process.send` keeps in
 * this process what the channel has no room for, and that is lost when the process ends, by itself or by a signal.
 */
export function blockingChannel(): (message: FromChild) => void {
  // Not in the types, but as old as `process.channel`.
  const channel = process.channel as { readonly fd?: number } | undefined;
  const idle = new Int32Array(new SharedArrayBuffer(4));
  return (message) => {
    const fd = channel?.fd;
    if (!process.connected || fd === undefined) return;
    const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
    for (let at = 0; at < bytes.length; ) {
      try {
        at += writeSync(fd, bytes, at);
      } catch (error) {
        // Any other error: the worker is gone, and this process ends as well.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
        Atomics.wait(idle, 0, 0, PAUSE_MS);
      }
    }
  };
}
