import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { SQLiteCheckpointBackend } from './checkpoints.ts';
import { SQLiteLeaseLock } from './lease-lock.ts';
import { RunFile } from './run-file.ts';

/** A clock that the test moves, and two processes that share a file. */
function scene(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-lease-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clock = { now: 1_000_000, timers: [] as { readonly at: number; readonly fn: () => void; on: boolean }[] };
  const after = (ms: number, fn: () => void): (() => void) => {
    const timer = { at: clock.now + ms, fn, on: true };
    clock.timers.push(timer);
    return () => void (timer.on = false);
  };
  const process = (owner: string) => {
    const file = new RunFile(join(folder, 'runs.sqlite'), { owner, now: () => clock.now });
    t.after(() => file.close());
    return { file, lock: new SQLiteLeaseLock(file, { after }), backend: new SQLiteCheckpointBackend(file) };
  };
  const pass = (ms: number, { timers = false } = {}): void => {
    clock.now += ms;
    if (!timers) return;
    for (const timer of clock.timers.splice(0)) if (timer.on && timer.at <= clock.now) timer.fn();
  };
  return { one: process('one'), other: process('other'), again: () => process('one'), pass };
}

const snapshot = { execution_id: 'run', current_state: 'a', context: {}, step: 1, event: 'execute' };

describe('a lease in a SQLite file', () => {
  test('keeps others out; its owner comes in again; releasing what one does not hold is harmless', async (t) => {
    const { one, other, again } = scene(t);
    assert.equal(await one.lock.acquire('run'), true);
    assert.equal(await other.lock.acquire('run'), false);
    assert.equal(await other.lock.acquire('another'), true);
    await other.lock.release('run');
    assert.equal(await other.lock.acquire('run'), false);
    assert.equal(await again().lock.acquire('run'), true);
  });

  test('can be taken when it has run out, with a token that is one higher each time', async (t) => {
    const { one, other, pass } = scene(t);
    await one.lock.acquire('run');
    assert.equal(one.file.tokens.get('run'), 1);
    pass(300_000);
    assert.equal(await other.lock.acquire('run'), true);
    assert.equal(other.file.tokens.get('run'), 2);
    await other.lock.release('run');
    await one.lock.release('run');
    assert.equal(await one.lock.acquire('run'), true);
    assert.equal(one.file.tokens.get('run'), 3);
  });

  test('is renewed by itself, and not once it has run out', async (t) => {
    const { one, other, pass } = scene(t);
    await one.lock.acquire('run');
    for (let i = 0; i < 5; i++) pass(100_000, { timers: true });
    assert.equal(await other.lock.acquire('run'), false);
    pass(300_000);
    assert.equal(one.lock.renew('run'), false);
    assert.equal(await other.lock.acquire('run'), true);
  });

  test('is checked with every write: who has lost it changes nothing', async (t) => {
    const { one, other, pass } = scene(t);
    await one.lock.acquire('run');
    await one.backend.save('run/step_000001_execute.json', snapshot);
    await assert.rejects(
      other.backend.save('run/step_000001_execute.json', { ...snapshot, step: 9 }),
      /another process runs run/,
    );
    pass(300_000);
    await one.backend.save('run/latest', 'run/step_000001_execute.json');
    await other.lock.acquire('run');
    for (const write of [
      () => one.backend.save('run/latest', 'x'),
      () => one.backend.save('run/step_000002_execute.json', snapshot),
      () => one.backend.delete('run/latest'),
      () => one.backend.deleteExecution('run'),
    ]) {
      await assert.rejects(write(), /another process runs run/);
    }
    assert.deepEqual(await other.backend.list(''), ['run/latest', 'run/step_000001_execute.json']);
    await other.backend.save('run/step_000002_execute.json', snapshot);
  });
});
