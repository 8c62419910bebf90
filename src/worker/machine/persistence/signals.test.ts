import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { SignalBackend } from './backends.ts';
import { MemorySignalBackend } from './memory-signals.ts';
import { RunFile } from './sqlite/run-file.ts';
import { SQLiteSignalBackend } from './sqlite/signals.ts';
import { FileTrigger, NoOpTrigger, SocketTrigger, sendAndNotify } from './triggers.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-signals-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function sqliteAt(t: TestContext, path: string): SQLiteSignalBackend {
  const file = new RunFile(path, { owner: 'me', now: Date.now });
  t.after(() => file.close());
  return new SQLiteSignalBackend(file);
}

const kinds: Readonly<Record<string, (t: TestContext) => SignalBackend>> = {
  memory: () => new MemorySignalBackend(),
  sqlite: (t) => sqliteAt(t, join(folderOf(t), 's.sqlite')),
};

const dataOf = (signal: { readonly data: unknown } | null): unknown => signal?.data;

for (const [kind, make] of Object.entries(kinds)) {
  describe(`signals in ${kind}`, () => {
    test('come first in, first out, each channel by itself', async (t) => {
      const signals = make(t);
      const ids = [await signals.send('c', { n: 1 }), await signals.send('c', [2]), await signals.send('d', null)];
      assert.equal(new Set(ids).size, 3);
      assert.deepEqual((await signals.peek('c')).map(dataOf), [{ n: 1 }, [2]]);
      assert.deepEqual(await signals.channels(), ['c', 'd']);
      assert.deepEqual(dataOf(await signals.consume('c')), { n: 1 });
      assert.deepEqual(dataOf(await signals.consume('c')), [2]);
      assert.equal(await signals.consume('c'), null);
      assert.equal(dataOf(await signals.consume('d')), null);
      assert.deepEqual(await signals.channels(), []);
    });

    test('are each taken once, however many ask', async (t) => {
      const signals = make(t);
      for (let n = 0; n < 20; n++) await signals.send('c', n);
      const taken = await Promise.all(Array.from({ length: 30 }, () => signals.consume('c')));
      const numbers = taken.filter((one) => one !== null).map(dataOf);
      assert.deepEqual(
        numbers,
        Array.from({ length: 20 }, (_, n) => n),
      );
    });

    test('are delivered to all who wait, in one step; nobody else gets a copy', async (t) => {
      const signals = make(t);
      await signals.send('c', 1);
      await signals.send('c', 2);
      assert.equal(await signals.deliver('c', []), null);
      assert.equal(dataOf(await signals.deliver('c', ['a', 'b'])), 1);
      assert.deepEqual((await signals.addressed('c')).toSorted(), ['a', 'b']);
      assert.equal(dataOf(await signals.receive('c', 'stranger')), 2);
      assert.equal(dataOf(await signals.receive('c', 'a')), 1);
      const first = await signals.receive('c', 'a');
      assert.equal(dataOf(first), 1, 'it stays until it is settled');
      await signals.settle(first?.id ?? '', 'a');
      assert.equal(await signals.receive('c', 'a'), null);
      assert.equal(dataOf(await signals.receive('c', 'b')), 1);
    });
  });
}

describe('signals in one SQLite file', () => {
  test('are seen and taken once by all who have it open', async (t) => {
    const path = join(folderOf(t), 's.sqlite');
    const [one, other] = [sqliteAt(t, path), sqliteAt(t, path)];
    for (let n = 0; n < 10; n++) await one.send('c', n);
    const taken: unknown[] = [];
    for (let n = 0; n < 6; n++) taken.push(dataOf(await one.consume('c')), dataOf(await other.consume('c')));
    assert.deepEqual(taken.slice(0, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert.deepEqual(taken.slice(10), [undefined, undefined]);
  });
});

describe('a trigger', () => {
  test('that fails does not lose the signal', async () => {
    const signals = new MemorySignalBackend();
    const failed: unknown[] = [];
    const trigger = { notify: () => Promise.reject(new Error('nobody there')) };
    const id = await sendAndNotify(signals, trigger, 'c', 1, (error) => failed.push(error));
    assert.deepEqual([(await signals.peek('c'))[0]?.id, failed.length], [id, 1]);
  });

  test('is told after the signal is kept', async () => {
    const signals = new MemorySignalBackend();
    let seen = -1;
    await sendAndNotify(
      signals,
      { notify: async (channel) => void (seen = (await signals.peek(channel)).length) },
      'c',
      1,
    );
    assert.equal(seen, 1);
    await sendAndNotify(signals, new NoOpTrigger(), 'c', 2);
    assert.equal((await signals.peek('c')).length, 2);
  });

  test('of files touches one for each channel, whatever its name', async (t) => {
    const folder = join(folderOf(t), 'deep', 'triggers');
    const trigger = new FileTrigger(folder);
    const channels = ['approval/1', 'approval__1', '../../escape', 'x'.repeat(300), 'ü/\0', '.'];
    for (const channel of channels) await trigger.notify(channel);
    assert.equal(readdirSync(folder).length, channels.length);
    assert.ok(readdirSync(folder).includes('approval__1'));
    writeFileSync(join(folder, 'approval__1'), 'left alone');
    await trigger.notify('approval/1');
    assert.equal(statSync(join(folder, 'approval__1')).size, 10);
  });

  test('of sockets is refused, with what to use instead', () =>
    assert.throws(
      () => new SocketTrigger('/run/x.sock'),
      (error: unknown) => {
        assert.match(String((error as { hint?: string }).hint), /file/);
        return true;
      },
    ));
});
