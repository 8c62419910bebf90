import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine } from '../../src/engine/engine.ts';
import { openSqlite } from '../../src/store/sqlite/open.ts';
import { VirtualWorld } from '../../src/testing.ts';
import { scaled } from '../support/scale.ts';
import { type Ground, scheduling } from './scheduling.ts';

async function inMemory(seed: number): Promise<Ground> {
  const world = new VirtualWorld({ seed });
  const store = await openSqlite({ file: 'memory:', world });
  return {
    engine: new Engine({ store, world }),
    pass: (ms) => world.advance(ms),
    close: () => store.close(),
  };
}

test('random workers, tags, limits and edits: eligible, within the limits, and as Explain says', async (t) => {
  const seen = { grants: 0, heldBack: 0 };
  const seeds = scaled(40, 400);
  for (let seed = 1; seed <= seeds; seed++) {
    const { grants, heldBack } = await scheduling(await inMemory(seed), seed, 80);
    seen.grants += grants;
    seen.heldBack += heldBack;
  }
  t.diagnostic(`${seeds} worlds: ${seen.grants} grants, ${seen.heldBack} tasks held back when they were explained`);
  assert.ok(seen.grants > seeds * 10 && seen.heldBack > seeds, 'the worlds were too easy');
});
