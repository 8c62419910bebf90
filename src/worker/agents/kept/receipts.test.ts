import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type LedgerEntry, MemoryLedger } from '../ledger.ts';
import { CallMemory } from './call-memory.ts';
import type { Question } from './person.ts';
import { Receipts, type ReceiptsDeps } from './receipts.ts';

const receiptsOver = (ledger: MemoryLedger, ask?: ReceiptsDeps['ask']): Receipts =>
  new Receipts({ ledger, key: 'task/s:000001', ask });

const deciding = (action: string, value?: string) => {
  const asked: [string, Question][] = [];
  const ask: ReceiptsDeps['ask'] = (place, question) => {
    asked.push([place, question]);
    return Promise.resolve({ action, ...(value === undefined ? {} : { value }) });
  };
  return { asked, ask };
};

/** The process is gone in the middle of the effect. */
function cutOff(ledger: MemoryLedger, name: string, args: object): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const never = new Promise<never>(() => {});
  receiptsOver(ledger)
    .once(name, args as never, ({ key }) => {
      resolve(key);
      return never;
    })
    .catch(() => {});
  return promise;
}

describe('effects that happen once', () => {
  test('the same call is answered by its receipt, whatever the order of its keys and the whitespace', async () => {
    const ledger = new MemoryLedger();
    const keys: string[] = [];
    const send = ({ key }: { readonly key: string }): string => `sent ${keys.push(key)}`;
    const first = receiptsOver(ledger);
    const all = [
      await first.once('send', { to: 'ada', with: { b: [1, 2], a: null } }, send),
      await first.once('send', { with: { a: null, b: [1, 2] }, to: 'ada' }, send),
      await first.once('send', ' {"with":\n{"b": [1,2], "a":null} , "to": "ada"} ', send),
      // Another attempt, in another process.
      await receiptsOver(ledger).once('send', { to: 'ada', with: { b: [1, 2], a: null } }, send),
    ];
    assert.deepEqual(all, ['sent 1', 'sent 1', 'sent 1', 'sent 1']);
    const others = [
      await first.once('send', { to: 'ada', with: { b: [2, 1], a: null } }, send),
      await first.once('send', { to: 'ada ', with: { b: [1, 2], a: null } }, send),
      await first.once('send', { to: 'ada', with: { b: [1, 2], a: null } }, send, { scope: 'tuesday' }),
      await first.once('post', { to: 'ada', with: { b: [1, 2], a: null } }, send),
    ];
    assert.deepEqual(others, ['sent 2', 'sent 3', 'sent 4', 'sent 5']);
    assert.equal(new Set(keys).size, 5);
  });

  test('two that come at once share the receipt of the one that wins', async () => {
    const receipts = receiptsOver(new MemoryLedger());
    let runs = 0;
    const slow = async (): Promise<number> => {
      await Promise.resolve();
      return ++runs;
    };
    assert.deepEqual(
      await Promise.all([receipts.once('pay', { n: 1 }, slow), receipts.once('pay', { n: 1 }, slow)]),
      [1, 1],
    );
  });

  test('a receipt that somebody else has written first counts', async () => {
    const ledger = new MemoryLedger();
    const raced = {
      read: (key: string) => ledger.read(key),
      commit: async (entries: readonly LedgerEntry[]) => {
        // As a journal does: the first value under a key stays.
        for (const entry of entries) if ((await ledger.read(entry.key)) === undefined) await ledger.commit([entry]);
      },
    };
    const receipts = new Receipts({ ledger: raced, key: 'k', ask: undefined });
    const value = await receipts.once('pay', {}, async () => {
      await new Receipts({ ledger: raced, key: 'k', ask: undefined }).once('pay', {}, () => 'the winner', {
        replay: 'repeat',
      });
      return 'the loser';
    });
    assert.equal(value, 'the winner');
  });

  test('one that was under way is marked as abandoned, and its policy says what follows', async () => {
    for (const replay of ['repeat', 'relaunch'] as const) {
      const ledger = new MemoryLedger();
      const key = await cutOff(ledger, 'sub', { q: 1 });
      const told: unknown[] = [];
      const receipts = new Receipts({
        ledger,
        key: 'task/s:000001',
        ask: undefined,
        told: (event) => told.push(event),
      });
      const seen = await receipts.once('sub', { q: 1 }, ({ key: own, again }) => [own === key, again], { replay });
      assert.deepEqual(seen, [true, true]);
      assert.deepEqual(told, [{ type: 'tool_abandoned', data: { name: 'sub' } }]);
      const hash = key.split('/e:')[1];
      assert.deepEqual(await ledger.read(`x:${hash}:0`), { effect: 'sub', abandoned: true });
    }
  });

  test('one that can be looked up is promoted if it has happened, and done if it has not', async () => {
    for (const [found, expected] of [
      ['sent before', 'sent before'],
      [undefined, 'sent now'],
    ] as const) {
      const ledger = new MemoryLedger();
      const key = await cutOff(ledger, 'send', { to: 'ada' });
      const looked: unknown[] = [];
      const lookup = (call: object): string | undefined => (looked.push(call), found);
      const value = await receiptsOver(ledger).once('send', { to: 'ada' }, () => 'sent now', { lookup });
      assert.equal(value, expected);
      assert.deepEqual(looked, [{ key, again: true }]);
      assert.equal(await receiptsOver(ledger).once('send', { to: 'ada' }, () => 'never'), expected);
    }
  });

  test('of one that nobody can know of a person is asked, or it is an error', async () => {
    const ledger = new MemoryLedger();
    await cutOff(ledger, 'charge', { amount: 5 });
    const never = (): never => assert.fail('it acted');
    await assert.rejects(receiptsOver(ledger).once('charge', { amount: 5 }, never), { type: 'StepUncertain' });
    const stopped = deciding('stop');
    await assert.rejects(receiptsOver(ledger, stopped.ask).once('charge', { amount: 5 }, never), {
      type: 'StepUncertain',
    });
    const [[place, question] = []] = stopped.asked;
    assert.match(String(place), /^uncertain:[0-9a-f]+:0$/);
    assert.deepEqual(question?.actions, ['it has happened', 'do it again', 'stop']);
    const again = deciding('do it again');
    assert.equal(await receiptsOver(ledger, again.ask).once('charge', { amount: 5 }, () => 'charged'), 'charged');
    const other = new MemoryLedger();
    await cutOff(other, 'charge', { amount: 5 });
    const happened = deciding('it has happened', 'receipt 7');
    assert.equal(await receiptsOver(other, happened.ask).once('charge', { amount: 5 }, never), 'receipt 7');
  });

  test('one that says that it failed may be tried again, and is not uncertain', async () => {
    const ledger = new MemoryLedger();
    const failing = (): never => {
      throw new Error('no stamps');
    };
    await assert.rejects(receiptsOver(ledger).once('send', {}, failing), /no stamps/);
    assert.equal(await receiptsOver(ledger).once('send', {}, ({ again }) => `again: ${again}`), 'again: false');
  });
});

describe('checkpoints of a call', () => {
  test('the newest counts, also for another attempt', async () => {
    const ledger = new MemoryLedger();
    const memory = new CallMemory(ledger, 'key');
    assert.equal(await memory.newest(), undefined);
    for (const at of [1, 2, 3]) await memory.keep({ at });
    assert.deepEqual(await memory.newest(), { at: 3 });
    const next = new CallMemory(ledger, 'key');
    assert.deepEqual(await next.newest(), { at: 3 });
    await next.keep({ at: 4 });
    assert.deepEqual(await new CallMemory(ledger, 'key').newest(), { at: 4 });
  });

  test('while one is written only the newest of the others waits', async () => {
    const inner = new MemoryLedger();
    const written: unknown[] = [];
    const memory = new CallMemory(
      {
        read: (key) => inner.read(key),
        commit: async (entries) => {
          written.push(...entries.map(({ value }) => value['at']));
          await inner.commit(entries);
        },
      },
      'key',
    );
    await Promise.all([1, 2, 3, 4, 5].map((at) => memory.keep({ at })));
    assert.equal(written.at(-1), 5);
    assert.ok(written.length < 5, written.join());
    assert.deepEqual(await memory.newest(), { at: 5 });
  });
});
