/** Puts the papers of a folder into the queue: node crawl.ts FOLDER. What is there already stays as it is, so cron may run it. */
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { PaperQueue } from './paper-queue.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Say which folder the papers are in: node crawl.ts FOLDER');
  process.exit(2);
}
const queue = new PaperQueue(process.env['PAPERS_DB'] ?? 'papers.sqlite');
for (const name of globSync('**/*.{txt,md}', { cwd: folder }).toSorted()) {
  const path = resolve(folder, name);
  const [title = name] = readFileSync(path, 'utf8').trim().split('\n', 1);
  await queue.push({ path, title: title.replace(/^#+\s*/, '').slice(0, 200) || name });
}
const counts = Object.entries(queue.counts()).map(([status, n]) => `${n} ${status}`);
console.log(counts.length === 0 ? 'there is no paper' : counts.join(', '));
await queue.close();
