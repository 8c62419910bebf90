import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT, temporaryFolder } from '../support/leasehold.ts';

const execute = promisify(execFile);

/** What each example prints, in this order; an example that is not here fails. */
const PRINTS: Readonly<Record<string, readonly RegExp[]>> = {
  'first.ts': [/What 10\.1000\/182 says\./, /completed: 1/],
  'agent.ts': [
    /^model called with 1 messages\nmodel called with 3 messages\nmodel called with 5 messages\nstate: waiting$/m,
    /^Publish this\? \{ reply: 'answer: they are related' \} \[ 'approve', 'reject' \]$/m,
    /^published once, as publish#0$/m,
    /^\{ published: true, by: 'ada', messages: 6, attempts: 3 \}$/m,
  ],
  'agent-run.ts': [
    /^uploaded under s:000001\nPublish shelf 4\?\npublished$/m,
    /^\{ text: 'shelf 4: yes', stop: 'complete', tokens: 12 \}$/m,
    /^log: begins at chapter 0\nlog: chapter 0 of "Bees"\nlog: chapter 1 of "Bees"\nlog: chapter 2 of "Bees"\nlog: begins at chapter 3\nlog: begins at chapter 3$/m,
  ],
  'workflow.ts': [
    /^reserved under step:reserve#0$/m,
    /^Pay 130\?$/m,
    /^charged 130 in try 3$/m,
    /^\{ paid: true, total: 130 \}\nfalse \{ paid: true, total: 130 \}$/m,
  ],
  'outcomes.ts': [
    /^On bees: done, tries used: 1$/m,
    /^On ants: done, tries used: 1$/m,
    /^On shaky: done, tries used: 2$/m,
    /^failed \(gave_up\): /m,
  ],
  'transaction.ts': [
    /^after the commit: 1 order, 1 task$/m,
    /^rolled back: the card was refused$/m,
    /^after the roll-back: 1 order, 1 task$/m,
    /^mail about a lamp$/m,
  ],
  'isolation.ts': [
    /longer than its timeout of 500 ms/,
    /^log: stop \(timeout\): abort signal$/m,
    /^log: stop \(timeout\): SIGTERM after \d+ ms$/m,
    /^the child is gone$/m,
    /^the program is gone$/m,
  ],
  'progress.ts': [
    /^step 1\nstep 2\nstep 3$/m,
    /^progress: \{ done: \d+, of: 100 \}$/m,
    /^cancel: requested$/m,
    /^state: cancelled$/m,
    /it was cancelled/,
  ],
};

for (const file of globSync('examples/*.ts', { cwd: ROOT }).toSorted()) {
  test(`${file} runs from an empty folder, and runs again`, async (t) => {
    const patterns = PRINTS[basename(file)];
    assert.ok(patterns, 'say here what it prints');
    const cwd = temporaryFolder(t);
    for (const round of ['first', 'second']) {
      const { stdout, stderr } = await execute(process.execPath, ['--conditions=@leasehold/source', join(ROOT, file)], {
        cwd,
      });
      assert.equal(stderr, '');
      let rest = stdout;
      for (const pattern of patterns) {
        const found = pattern.exec(rest);
        assert.ok(found, `${round} run, ${pattern} is missing:\n${stdout}`);
        rest = rest.slice(found.index + found[0].length);
      }
    }
  });
}

test('the code in the README is the first example, letter for letter', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((found) => found[1]);
  assert.deepEqual(blocks, [readFileSync(join(ROOT, 'examples/first.ts'), 'utf8')]);
});
