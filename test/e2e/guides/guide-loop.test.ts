import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../support/leasehold.ts';
import { blocksOf, Clone, freePort, interrupt, shows } from './guide-pages.ts';

test('"A loop that codes" holds, command by command', async (t) => {
  const port = String(await freePort());
  const clone = new Clone(t, { LEASEHOLD_PORT: port, LEASEHOLD_SERVER: `http://127.0.0.1:${port}` });
  for (const part of ['examples', 'machines']) cpSync(join(ROOT, part), join(clone.cwd, part), { recursive: true });
  let shown = '';
  let node: ReturnType<Clone['start']> | undefined;
  for (const block of blocksOf('a-loop-that-codes.md')) {
    if (block.where === 'up') {
      node = clone.start(block.text);
      await node.address();
    } else if (block.kind === 'sh') shown = await clone.say(block.text);
    else assert.ok(shows(block, shown), `the page shows ${block.text}, and it is ${shown}`);
  }
  assert.ok(node !== undefined);
  await interrupt(node);
});
