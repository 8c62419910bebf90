import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ROOT, type Running } from '../../support/leasehold.ts';
import { blocksOf, Clone, freePort, interrupt, shows } from './guide-pages.ts';

/** `npm start` as in a clone, without what it builds first. A terminal shows standard error too. */
const TERMINAL = 'exec 2>&1\nnpm() { shift 2; npx leasehold up "$@"; }\n';

test('"A run that survives" holds, command by command', { timeout: 180_000 }, async (t) => {
  const node = (await terminalsOf(t, 'a-run-that-survives.md')).get('node');
  assert.ok(node);
  await interrupt(node);
});

test('"Budgets" holds, command by command', { timeout: 180_000 }, async (t) => {
  await terminalsOf(t, 'budgets.md');
});

/** Does what the page says, and answers the terminals that it opened. */
async function terminalsOf(t: TestContext, page: string): Promise<ReadonlyMap<string, Running>> {
  const port = String(await freePort());
  const clone = new Clone(t, { LEASEHOLD_PORT: port });
  cpSync(join(ROOT, 'machines'), join(clone.cwd, 'machines'), { recursive: true });
  const terminals = new Map<string, Running>();
  let shown = '';
  let look = '';
  for (const block of blocksOf(page, { 7420: port })) {
    const { kind, where, text } = block;
    const terminal = terminals.get(where);
    if (kind === 'yaml' || kind === 'js') clone.write(where, text);
    else if (kind === 'sh' && where === '') {
      shown = await clone.say(text);
      look = /^npx leasehold runs show [\w-]+$/m.exec(text)?.[0] ?? '';
    } else if (kind === 'sh') {
      const started = clone.start(TERMINAL + text);
      terminals.set(where, started);
      if (where === 'node') await started.says(/is up at/);
    } else if (terminal === undefined) {
      // Who looks is quicker than a run that is about to wait.
      for (const end = Date.now() + 60_000; look !== '' && !shows(block, shown) && Date.now() < end; )
        shown = await clone.say(look);
      assert.ok(shows(block, shown), `the page shows ${text}, and it is ${shown}`);
    } else if (kind === 'json') {
      assert.equal((await terminal.ended).code, 0, terminal.stdout);
      assert.ok(shows(block, terminal.stdout.trimEnd().split('\n').at(-1) ?? ''), terminal.stdout);
    } else for (const line of text.trimEnd().split('\n')) await terminal.says(new RegExp(RegExp.escape(line)));
  }
  return terminals;
}
