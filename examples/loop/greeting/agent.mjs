// Stands for an agent that codes: it does the first task of the plan that is not checked, checks its box, and says when nothing is left.
import { readFileSync, writeFileSync } from 'node:fs';

const prompt = readFileSync(0, 'utf8');
const lines = readFileSync('plan.md', 'utf8').split('\n');
const at = lines.findIndex((line) => line.startsWith('- [ ] '));
if (at === -1) {
  console.log('Every box of the plan is checked.');
} else {
  const [, file, text] = /^- \[ \] write "(.*)" with "(.*)"$/.exec(lines[at]);
  // It forgets the end of the line, unless the checks have told it of that.
  writeFileSync(file, prompt.includes('no end of line') ? `${text}\n` : text);
  lines[at] = lines[at].replace('[ ]', '[x]');
  writeFileSync('plan.md', lines.join('\n'));
  console.log(`I wrote the file ${file} with the text ${text}.`);
}
if (!lines.some((line) => line.startsWith('- [ ] '))) console.log('<promise>COMPLETE</promise>');
