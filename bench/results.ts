/** Appends a run to RESULTS.md. */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, 'RESULTS.md');
const HEAD = `# Benchmark results

Appended by \`npm run bench\`, newest last: medians of the rounds (lowest…highest), × = ratio within the same round.
Rates on shared cores spread by ±20 % and more from run to run: compare ratios.
`;

export function appendResults(title: string, machine: string, ...parts: readonly string[]): void {
  if (!existsSync(FILE)) appendFileSync(FILE, HEAD);
  appendFileSync(FILE, `\n## ${title}\n\n${[machine, ...parts].join('\n\n')}\n`);
}
