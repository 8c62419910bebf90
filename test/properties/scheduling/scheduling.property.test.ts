import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATEMENTS, type StatementName } from '../../../src/store/sqlite/statements.ts';
import { scaled } from '../../support/scale.ts';
import { inMemory, onFiles } from './scheduling-grounds.ts';
import { firstWrong, WHAT, worlds } from './scheduling-worlds.ts';

test(`in memory, ${WHAT}`, (t) => worlds(t, inMemory, scaled(20, 400)));

test(`on files, ${WHAT}`, (t) => worlds(t, onFiles(), scaled(7, 100)));

/** What somebody might break one day: a part of a statement, what stands there then, and what the worlds say to it. */
const DEFECTS: readonly (readonly [StatementName, before: string, after: string, notice: RegExp])[] = [
  ['slotGive', 'active - ?', 'active - 0 * ?', /is kept wrong/],
  ['slotTake', 'active = ?', 'active = active + 0 * ?', /is kept wrong|has \d+ of \d+/],
  ['slotTake', 'tat = ?', 'tat = 0 * ?', /let \d+ start in 1000 ms/],
  ['limitCaps', 'WHERE def = ?', 'WHERE def = 0 * ?', /has \d+ of \d+/],
  ['workerEnabled', 'enabled,', '1 AS enabled,', /was given/],
  ['workerChange', 'revision + 1', 'revision', /was given|are never given/],
  ['heldLike', 'count(*)', '0 * count(*)', /has \d+ of \d+ alike/],
  ['signalTake', 'DELETE FROM signal', 'UPDATE signal SET body = body', /parks|hears another word|a signal on/],
];

test('the worlds notice each planted defect', async (t) => {
  for (const [name, before, after, notice] of DEFECTS) {
    const text = STATEMENTS[name].replace(before, after);
    assert.notEqual(text, STATEMENTS[name], `${name} does not say ${before} any more`);
    const noticed = await firstWrong((seed) => inMemory(seed, { [name]: text }), 40);
    assert.match(noticed ?? 'nothing was noticed', notice, `${name} with ${after}`);
    t.diagnostic(`${name} with ${after}: ${noticed?.split('\n')[0]?.slice(0, 100)}`);
  }
});
