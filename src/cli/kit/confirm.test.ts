import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineError } from '../../core/errors.ts';
import { confirm, type Question } from './confirm.ts';

async function hintFor(t: import('node:test').TestContext, question: Question): Promise<string | undefined> {
  const before = process.stdin.isTTY;
  process.stdin.isTTY = false;
  t.after(() => {
    process.stdin.isTTY = before;
  });
  const error: unknown = await confirm(question, { yes: false }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof EngineError);
  return error.hint;
}

test('where nobody can be asked, only what the command has is proposed', async (t) => {
  assert.match((await hintFor(t, { ask: 'Remove it?', word: 'remove' })) ?? '', /--yes.*--dry-run/);
  const hint = await hintFor(t, { ask: 'Merge it?', word: 'merge', onlyDoes: true });
  assert.match(hint ?? '', /--yes/);
  assert.doesNotMatch(hint ?? '', /dry-run/);
});
