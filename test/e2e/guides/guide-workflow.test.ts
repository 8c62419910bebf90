import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { CONDITIONS } from '../../support/leasehold.ts';
import { blocksOf, Clone } from './guide-pages.ts';

const execute = promisify(execFile);

test('the program of the guide to workflows prints what the page says', async (t) => {
  const blocks = blocksOf('a-workflow-in-code.md');
  const find = (kind: string): string => {
    const found = blocks.find((block) => block.kind === kind && block.where === 'nightly.ts');
    assert.ok(found, kind);
    return found.text;
  };
  const clone = new Clone(t);
  clone.write('nightly.ts', find('ts'));
  const file = join(clone.cwd, 'nightly.ts');
  const { stdout } = await execute(process.execPath, [...CONDITIONS, file], { cwd: clone.cwd });
  assert.equal(stdout, find('text'));
});

test('the test of the guide to workflows passes', async (t) => {
  const blocks = blocksOf('a-workflow-in-code.md');
  const found = blocks.filter(({ where }) => where === 'nightly.ts' || where === 'nightly.test.ts');
  const [program, , checks] = found as [{ text: string }, unknown, { text: string }];
  const clone = new Clone(t);
  const definitions = program.text.slice(0, program.text.indexOf('const app = '));
  const told = "import assert from 'node:assert/strict';\n";
  clone.write('nightly.test.ts', `${told}${definitions}${checks.text}\nassert.equal(state, 'completed');\n`);
  const file = join(clone.cwd, 'nightly.test.ts');
  await execute(process.execPath, [...CONDITIONS, file], { cwd: clone.cwd });
});
