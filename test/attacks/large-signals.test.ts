/** A signal that was accepted is received, however large it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFinal } from '../../src/core/task/task.ts';
import { task } from '../../src/worker/define/task.ts';
import type { NodeScene } from '../support/node-scene.ts';
import { STORES, target } from './scene.ts';

/** The largest text and the deepest value that a signal may have. */
const LONGEST = 'x'.repeat(1_048_576 - 2);
const DEEPEST = JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`) as unknown;

const listen = task('listen', {
  maxAttempts: 1,
  run: async (_input: unknown, ctx) => {
    const heard: unknown[] = [];
    for (const name of ['early', 'late']) {
      const { value } = await ctx.wait('heard', { signal: name });
      // A value of its own that is as large: the outcome of the wait goes with it.
      await ctx.step('keep', () => LONGEST);
      heard.push(JSON.stringify(value).length);
    }
    return heard;
  },
});

async function ended(node: NodeScene, number: number): Promise<{ readonly state: string; readonly result: unknown }> {
  for (;;) {
    const record = await node.engine.get(number);
    if (record !== undefined && isFinal(record.state)) {
      return { state: record.state, result: record.result === undefined ? undefined : JSON.parse(record.result) };
    }
    await new Promise(setImmediate);
  }
}

for (const [kind, store] of Object.entries(STORES)) {
  test(`a signal at the bound reaches a task that waits for it, and one that comes to wait (${kind})`, async (t) => {
    const { node } = await target(t, { store: await store() });
    const worker = node.service.app.worker({ name: 'w', tasks: [listen] as never });
    await worker.start();
    t.after(() => worker.stop({ drain: false }));
    const send = (channel: string, value: unknown) => node.ask('/api/v1/signals', { body: { channel, body: value } });
    for (const body of [LONGEST, DEEPEST]) {
      assert.equal((await send('early', body)).status, 200);
      const { task: number, id } = await node.engine.push({ queue: 'listen', handler: 'listen' });
      while ((await node.engine.get(number))?.state !== 'waiting') {
        assert.notEqual((await node.engine.get(number))?.state, 'failed');
        await new Promise(setImmediate);
      }
      assert.equal((await send('late', body)).status, 200);
      const { state, result } = await ended(node, number);
      const one = JSON.stringify(body).length;
      assert.deepEqual([state, result], ['completed', [one, one]], id);
    }
    const refused = await send('early', `${LONGEST}x`);
    assert.deepEqual([refused.status, refused.body.error.code], [413, 'TOO_LARGE']);
  });
}
