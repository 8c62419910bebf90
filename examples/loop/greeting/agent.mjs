// Stands for an agent that codes: it mends what the checks have found, else does the first task of the plan whose box is not checked,
// and says when nothing is left. Whatever it does it could do again.
import { readFileSync, writeFileSync } from 'node:fs';

const prompt = readFileSync(0, 'utf8');
const lines = readFileSync('plan.md', 'utf8').split('\n');
const at = lines.findIndex((line) => line.startsWith('- [ ] '));
const [, broken] = /^(\S+) has no end of line$/m.exec(prompt) ?? [];
if (broken !== undefined) {
  writeFileSync(broken, `${readFileSync(broken, 'utf8').trimEnd()}\n`);
  console.log(`I mended the file ${broken}: its line has an end now.`);
} else if (at === -1) {
  console.log('Every box of the plan is checked.');
} else {
  const [, file, text] = /^- \[ \] write "(.*)" with "(.*)"$/.exec(lines[at]);
  // It forgets the end of the line.
  writeFileSync(file, text);
  lines[at] = lines[at].replace('[ ]', '[x]');
  writeFileSync('plan.md', lines.join('\n'));
  console.log(`I wrote the file ${file} with the text ${text}.`);
}
if (!lines.some((line) => line.startsWith('- [ ] '))) console.log('<promise>COMPLETE</promise>');
