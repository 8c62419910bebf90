import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type BackendConfig, createWorkBackend } from '../../../src/compat/index.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { scaled } from '../../support/scale.ts';
import { type Child, Nursery, scratch } from '../children.ts';

const PROCESSES = 8;
const ITEMS = scaled(150, 2000);

interface Note {
  readonly claimed?: string;
  readonly data?: number;
  readonly attempts?: number;
  readonly settled?: string;
  readonly as?: 'completed' | 'failed';
}

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`A7: eight processes that race for ${ITEMS} items on ${kind} are each given what no other is`, async (t) => {
    const folder = scratch(t, 'compat-race');
    await race(t, folder, {
      type: kind,
      work_path: kind === 'sqlite' ? join(folder, 'pool.db') : `${await freshDatabase('race')}&pool=2`,
    });
  });
}

async function race(t: TestContext, folder: string, config: BackendConfig): Promise<void> {
  const backend = await createWorkBackend(config, { duties: false });
  const ids = await Promise.all(Array.from({ length: ITEMS }, (_, n) => backend.pool('race').push(n)));
  await backend.close();

  const nursery = new Nursery(t);
  const histories = Array.from({ length: PROCESSES }, (_, i) => join(folder, `history-${i}.jsonl`));
  const children: Child[] = [];
  for (const [i, history] of histories.entries()) {
    const child = nursery.start(new URL('./compat-race-child.ts', import.meta.url), [
      JSON.stringify(config),
      history,
      `racer-${i}`,
    ]);
    await child.hear('ready');
    children.push(child);
  }
  const started = performance.now();
  for (const child of children) child.tell({ word: 'go' });
  await Promise.all(children.map((child) => child.hear('done')));
  t.diagnostic(`${Math.round((ITEMS / (performance.now() - started)) * 1000)} items/s`);
  await Promise.all(children.map((child) => child.ended));

  // Only what the clients were told is judged.
  const notes = histories.map((history) => readNotes(history));
  const claims = new Set<string>();
  const completed = new Set<string>();
  for (const { claimed, data, attempts, settled, as } of notes.flat()) {
    if (claimed !== undefined) {
      assert.equal(ids[data as number], claimed, 'the data belongs to the id');
      assert.ok(!claims.has(`${claimed}/${attempts}`), `try ${attempts} of item ${claimed} was claimed twice`);
      claims.add(`${claimed}/${attempts}`);
    } else if (as === 'completed') {
      assert.ok(!completed.has(settled as string), `item ${settled} was completed twice`);
      completed.add(settled as string);
    }
  }
  const failedOnce = ids.filter((id) => Number(id) % 50 === 0);
  assert.deepEqual(
    ids.filter((id) => !completed.has(id)),
    [],
    'none is lost',
  );
  assert.equal(claims.size, ITEMS + failedOnce.length, 'no claim too many');
  for (const id of ids) assert.ok(claims.has(`${id}/1`));
  for (const id of failedOnce) assert.ok(claims.has(`${id}/2`));
  const shares = notes.map((own) => own.filter(({ claimed }) => claimed !== undefined).length);
  t.diagnostic(`shares ${Math.min(...shares)}…${Math.max(...shares)}`);
}

function readNotes(history: string): readonly Note[] {
  const lines = readFileSync(history, 'utf8').split('\n');
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Note]));
}
