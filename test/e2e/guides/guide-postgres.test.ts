import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BIN, ROOT, run, temporaryFolder } from '../../support/leasehold.ts';
import { freshDatabase } from '../../support/postgres.ts';

const PAGE = join(ROOT, 'docs/guides/from-one-file-to-postgres.md');

test('the commands and the program of "From one file to Postgres" run as they stand', async (t) => {
  const cwd = temporaryFolder(t);
  const env = { DB: await freshDatabase('guide'), LEASEHOLD_PORT: '0' };
  const npx = `set -e\nnpx() { shift; '${process.execPath}' '${BIN}' "$@"; }\n`;
  const start = (text: string) => run(t, ['-c', npx + text], { cwd, env, command: 'sh', group: true });
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```(sh|ts)(?: (\w+))?\n(.*?)^```$/gms)];
  assert.deepEqual(
    blocks.map(([, kind, where = '']) => `${kind} ${where}`.trim()),
    ['sh', 'sh server', 'sh', 'sh node', 'sh worker', 'sh', 'ts'],
  );
  const said: string[] = [];
  for (const [, kind, where, text = ''] of blocks) {
    if (where === 'server') continue; // the tests have one
    if (where !== undefined) {
      await start(text).says(where === 'node' ? /is up at/ : /^Worker /);
      continue;
    }
    const file = join(cwd, 'page.ts');
    if (kind === 'ts') {
      symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
      // As the name of the package would, were it installed.
      writeFileSync(file, text.replace("'leasehold'", `'${join(ROOT, 'src/index.ts')}'`));
    }
    const shell = kind === 'ts' ? start(`'${process.execPath}' '${file}'\n`) : start(text);
    assert.equal((await shell.ended).code, 0, `${text}\n${shell.stdout}${shell.stderr}`);
    said.push(shell.stdout);
  }
  const [, moved = '', looked = '', mailed = ''] = said;
  assert.match(moved, /tasks 100: 99 ready, 1 completed\n[^]*Moved in /);
  assert.match(looked, /completed/);
  assert.match(looked, /0 failed\.\n$/);
  assert.equal(mailed, 'mail about a lamp\n');
});
