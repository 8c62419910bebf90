import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker as Thread } from 'node:worker_threads';
import { RenewalTable } from './renewal-table.ts';

test('what is put can be read through another view of the same memory, until it is cleared', () => {
  const mine = new RenewalTable(3);
  const theirs = new RenewalTable(3, mine.buffer);
  mine.put(1, { task: 7, attempt: 2, since: 100.5, deadline: 900 });
  mine.beat(123.25);
  assert.deepEqual(theirs.read(1), { task: 7, attempt: 2, since: 100.5, deadline: 900 });
  assert.equal(theirs.read(0), undefined);
  assert.equal(theirs.beatAt, 123.25);
  mine.clear(1);
  assert.equal(theirs.read(1), undefined);
});

test('numbers as large as the stores can give come through whole', () => {
  const table = new RenewalTable(1);
  const task = Number.MAX_SAFE_INTEGER;
  table.put(0, { task, attempt: 2 ** 31, since: 0, deadline: 0 });
  assert.equal(table.read(0)?.task, task);
  assert.equal(table.read(0)?.attempt, 2 ** 31);
});

test('a reader in another thread never sees half of one lease and half of another', async (t) => {
  const table = new RenewalTable(1);
  const module = new URL('./renewal-table.ts', import.meta.url).href;
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    import(${JSON.stringify(module)}).then(({ RenewalTable }) => {
      const table = new RenewalTable(1, workerData);
      let seen = 0, mixed = 0;
      parentPort.postMessage('reading');
      while (seen < 20000) {
        const entry = table.read(0);
        if (entry === undefined) continue;
        seen++;
        if (entry.task !== entry.attempt || entry.since !== entry.task || entry.deadline !== entry.task) mixed++;
      }
      parentPort.postMessage({ seen, mixed });
    });`;
  const thread = new Thread(program, { eval: true, workerData: table.buffer });
  t.after(() => thread.terminate());
  let answer: { seen: number; mixed: number } | undefined;
  thread.on('message', (message: 'reading' | { seen: number; mixed: number }) => {
    if (message !== 'reading') answer = message;
  });
  for (let n = 1; answer === undefined; ) {
    for (let i = 0; i < 1000; i++, n++) table.put(0, { task: n, attempt: n, since: n, deadline: n });
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
  assert.deepEqual(answer, { seen: 20_000, mixed: 0 });
});
