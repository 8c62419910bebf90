/** Files that share a process: to start one and to load what all of them import costs more than most of them. */
import { costOf } from './costs.ts';
import type { Job } from './job.ts';

/** So many processes, of about the same cost. */
export function shards(files: readonly string[], count: number): readonly Job[] {
  const parts = Array.from({ length: count }, () => ({ files: [] as string[], cost: 0 }));
  for (const file of files.toSorted((a, b) => costOf(b, 'short') - costOf(a, 'short'))) {
    const least = parts.reduce((best, part) => (part.cost < best.cost ? part : best));
    least.files.push(file);
    least.cost += costOf(file, 'short');
  }
  const filled = parts.filter((part) => part.files.length > 0);
  return filled.map((part, i) => ({
    name: `${part.files.length} files in one process (${i + 1} of ${filled.length})`,
    files: part.files.toSorted(),
  }));
}
