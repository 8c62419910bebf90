import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Timers } from '../../../core/world.ts';
import { checkpointUri, InMemoryResultBackend, resultUri } from './results.ts';

describe('results by their addresses', () => {
  const uri = resultUri('run');

  test('are there once they are written, and until they are deleted', async () => {
    const results = new InMemoryResultBackend();
    assert.equal(uri, 'flatagents://run/result');
    assert.equal(checkpointUri('run'), 'flatagents://run/checkpoint');
    assert.equal(await results.read(uri), undefined);
    assert.equal(await results.exists(uri), false);
    await results.write(uri, { n: 1 });
    assert.deepEqual(await results.read(uri), { n: 1 });
    assert.deepEqual(await results.read(uri, { block: true, timeout: 1 }), { n: 1 });
    assert.equal(await results.exists(uri), true);
    await results.delete(uri);
    await results.delete(uri);
    assert.equal(await results.exists(uri), false);
  });

  test('wake all who wait for them', async () => {
    const results = new InMemoryResultBackend();
    const readers = Array.from({ length: 10 }, () => results.read(uri, { block: true }));
    await results.write(uri, null);
    assert.deepEqual(await Promise.all(readers), Array(10).fill(null));
  });

  test('that do not come are a TimeoutError when the time is up', async () => {
    const due: (() => void)[] = [];
    const timers: Pick<Timers, 'after'> = { after: (ms, fn) => (assert.equal(ms, 250), due.push(fn), () => {}) };
    const results = new InMemoryResultBackend(timers);
    const reading = assert.rejects(results.read(uri, { block: true, timeout: 250 }), {
      type: 'TimeoutError',
      name: 'TimeoutError',
    });
    await Promise.resolve();
    for (const fire of due) fire();
    await reading;
  });

  test('have no other addresses', async () => {
    const results = new InMemoryResultBackend();
    for (const bad of [
      'run',
      'flatagents://run',
      'flatagents:///result',
      'flatagents://a/b/result',
      'http://run/result',
    ]) {
      await assert.rejects(results.write(bad, 1), /no address of a result/);
    }
  });
});
