import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../support/leasehold.ts';
import { blocksOf, Clone, shows } from './guide-pages.ts';

test('"A machine in five minutes" holds, command by command', async (t) => {
  const clone = new Clone(t);
  cpSync(join(ROOT, 'machines'), join(clone.cwd, 'machines'), { recursive: true });
  let shown = '';
  for (const block of blocksOf('a-machine-in-five-minutes.md')) {
    if (block.where !== '') clone.write(block.where, block.text);
    else if (block.kind === 'sh') shown = await clone.say(block.text);
    else assert.ok(shows(block, shown), `the page shows ${block.text}, and it is ${shown}`);
  }
});
