import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openNode } from '../../src/app/node.ts';
import { isEngineError } from '../../src/core/errors.ts';
import { Nursery, scratch } from './children.ts';
import { look } from './look.ts';
import { findNamespace } from './remote/namespace.ts';

test('a store that may not grow any more refuses with STORE_FULL, keeps what it took, and takes more once it may grow', async (t) => {
  const file = join(scratch(t, 'pages'), 'pages.db');
  const { value: node, handles } = await handlesOf(() => openNode(`sqlite:${file}`, { leaseMs: 300, dutyMs: 300 }));
  t.after(() => node.close());
  // The bound belongs to a connection: the only one of this thread is the writer's.
  assert.equal(handles.length, 1);
  const writer = handles[0] as DatabaseSync;
  const pages = (writer.prepare('PRAGMA page_count').get() as { page_count: number }).page_count;
  const inputs = Array.from({ length: 400 }, (_, n) => ({ n, text: 'x'.repeat(900) }));
  const push = (from: number, to: number) =>
    Promise.allSettled(inputs.slice(from, to).map((input) => node.engine.push({ queue: 'q', handler: 'h', input })));

  // Sixteen at a time share their transactions, and some of those break in the middle.
  writer.exec(`PRAGMA max_page_count = ${pages + 40}`);
  const answers: PromiseSettledResult<{ readonly task: number }>[] = [];
  for (let from = 0; from < 320; from += 16) answers.push(...(await push(from, from + 16)));
  const refusals = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
  assert.ok(refusals.length > 0 && refusals.length < 320, `${refusals.length} of 320 refused`);
  for (const refusal of refusals) {
    assert.ok(isEngineError(refusal, 'STORE_FULL'), String(refusal));
    assert.match(refusal.hint ?? '', /free some space/i);
  }
  assert.equal((await node.engine.stats('q')).ready, 320 - refusals.length);

  writer.exec('PRAGMA max_page_count = 4294967294');
  answers.push(...(await push(320, 400)));
  assert.ok(answers.slice(320).every(({ status }) => status === 'fulfilled'));
  await node.close();

  const acknowledged = answers.flatMap((answer, n) =>
    answer.status === 'fulfilled' ? [[answer.value.task, JSON.stringify(inputs[n])] as const] : [],
  );
  const found = look(file);
  assert.deepEqual(new Map(found.tasks.map(({ id, payload }) => [id, payload])), new Map(acknowledged));
  assert.deepEqual([found.integrity, found.gaps, found.drift, found.misfits], ['ok', [], [], []]);
  t.diagnostic(`${refusals.length} of 400 pushes refused, ${acknowledged.length} acknowledged and there`);
});

const { wrapper, whyNot } = findNamespace();
const SCENARIOS = {
  full: 'a node outlives a full disk: it loses nothing, says what to do, and goes on when there is space again',
  'open on full':
    'opening on a full disk is refused with STORE_FULL, and works in the same process when there is space',
  'open on read-only':
    'opening on a read-only mount is refused with STORE_READONLY, and works in the same process later',
  'turned read-only':
    'a node whose disk turns read-only goes on reading, and writes again as soon as it can be written',
  'taken away': 'a node whose disk is taken away makes no other file in its place, and goes on when it is back',
};
for (const [scenario, title] of Object.entries(SCENARIOS)) {
  // In CI these must run: a skip there would be a hole that nobody sees.
  test(title, { skip: process.env.CI === 'true' ? false : whyNot }, (t) => run(t, scenario));
}

async function run(t: TestContext, scenario: string): Promise<void> {
  const nursery = new Nursery(t, { wrapper });
  const child = nursery.start(new URL('./disk-child.ts', import.meta.url), [scenario, scratch(t, 'disk')]);
  const { word: _, ...figures } = await child.hear('done');
  if (Object.keys(figures).length > 0) t.diagnostic(JSON.stringify(figures));
  await child.ended;
  assert.equal(child.process.exitCode, 0, child.errors);
}

/** Every handle that this thread opens meanwhile; each is given its pragmas with `exec` when it is opened. */
async function handlesOf<T>(open: () => Promise<T>): Promise<{ value: T; handles: readonly DatabaseSync[] }> {
  const handles = new Set<DatabaseSync>();
  const prototype = DatabaseSync.prototype as { exec: (this: DatabaseSync, sql: string) => void };
  const { exec } = prototype;
  prototype.exec = function noting(sql) {
    handles.add(this);
    exec.call(this, sql);
  };
  try {
    return { value: await open(), handles: [...handles] };
  } finally {
    prototype.exec = exec;
  }
}
