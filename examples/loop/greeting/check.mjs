// What a loop is verified by: every task that is checked is done, and done well. It changes nothing: after a crash it runs again.
import { existsSync, readFileSync } from 'node:fs';

for (const [, file] of readFileSync('plan.md', 'utf8').matchAll(/^- \[x\] write "(.*)" with ".*"$/gm)) {
  if (existsSync(file) && readFileSync(file, 'utf8').endsWith('\n')) continue;
  console.log(`${file} has no end of line`);
  process.exitCode = 1;
}
