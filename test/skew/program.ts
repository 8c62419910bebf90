/** What a node and a worker of these tests have in common: one JSON object as their argument, and one a line as their output. */
import type { Log } from '../../src/engine/log.ts';

export function givenOptions<T>(): T {
  return JSON.parse(process.argv[2] ?? '{}') as T;
}

export function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** Information is left out: the tests look for warnings. */
export const OUTPUT: Log = {
  info: () => {},
  warn: (message, fields = {}) => say({ level: 'warn', message, fields }),
  error: (message, fields = {}) => say({ level: 'error', message, fields }),
};

/** Resolves at the first SIGTERM. */
export function stopRequested(): Promise<void> {
  return new Promise((resolve) => void process.once('SIGTERM', () => resolve()));
}
