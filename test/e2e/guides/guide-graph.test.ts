import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../support/leasehold.ts';
import { blocksOf, Clone, freePort, interrupt } from './guide-pages.ts';

test('"A graph" holds, command by command, and its example sends its messages', async (t) => {
  const clone = new Clone(t, { LEASEHOLD_PORT: String(await freePort()) });
  cpSync(join(ROOT, 'examples'), join(clone.cwd, 'examples'), { recursive: true });
  const [up, run, check, ...others] = blocksOf('a-graph.md');
  assert.ok(up !== undefined && run !== undefined && check !== undefined && others.length === 0);
  const node = clone.start(up.text);
  await node.address();
  const shown = await clone.say(run.text);
  assert.match(shown, /^● send {2}discord\/discord_send · task of discord\/discord_send$/m);
  assert.match(shown, /^ {2}state {5}✓ completed/m);
  for (const message of ['Good morning', 'Good evening']) assert.ok(shown.includes(message), shown);
  assert.match(shown, /^ {4}send \(2\)/m);
  await clone.say(check.text);
  const again = await clone.say(`${run.text.split('\n')[1]} --up-to words`.replace('notify-1', 'notify-2'));
  assert.match(again, /"words":\[/);
  const nameless = await clone.say('npx leasehold workflows run examples/graphs/notify.json --json');
  assert.match(nameless, /"nobody":\{"why":"nobody has a name"\}/);
  await interrupt(node);
});
