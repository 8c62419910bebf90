// What a loop is verified by: every task that is checked is done, and done well. A task that is not is opened again.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const plan = readFileSync('plan.md', 'utf8');
let left = plan;
for (const [line, file] of plan.matchAll(/^- \[x\] write "(.*)" with ".*"$/gm)) {
  if (existsSync(file) && readFileSync(file, 'utf8').endsWith('\n')) continue;
  console.log(`${file} has no end of line`);
  left = left.replace(line, line.replace('[x]', '[ ]'));
  process.exitCode = 1;
}
if (left !== plan) writeFileSync('plan.md', left);
