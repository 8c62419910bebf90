import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT, temporaryFolder } from '../support/leasehold.ts';

const execute = promisify(execFile);
const examples = globSync('examples/*.ts', { cwd: ROOT });

for (const file of examples) {
  test(`${file} runs from an empty folder, and runs again`, async (t) => {
    const cwd = temporaryFolder(t);
    for (const round of ['first', 'second']) {
      const { stdout, stderr } = await execute(process.execPath, ['--conditions=@leasehold/source', join(ROOT, file)], {
        cwd,
      });
      assert.match(stdout, /completed: 1/, round);
      assert.equal(stderr, '');
    }
  });
}

test('the code in the README is the first example, letter for letter', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((found) => found[1]);
  assert.deepEqual(blocks, [readFileSync(join(ROOT, 'examples/first.ts'), 'utf8')]);
});
