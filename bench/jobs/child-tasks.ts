/** Tasks for warm child processes, which load this module. */
import { writeFileSync } from 'node:fs';
import { task } from '../../src/index.ts';
import { micros } from './line.ts';

const apart = { queue: 'bench', isolation: 'process', module: import.meta.url, maxAttempts: 1 } as const;

export const noop = task('noop', { ...apart, run: () => null });

/** Says when its handler began, by the clock that all processes share. */
export const stamp = task('stamp', { ...apart, run: () => micros() });

/** Writes its process id into the file that is its input, and waits to be killed. */
export const hold = task('hold', {
  ...apart,
  run: async (file) => {
    writeFileSync(String(file), `${process.pid}\n`);
    await new Promise<never>(() => {});
  },
});
