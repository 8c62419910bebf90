/** A worker and a node of different ages: every kind of task ends as it should, over both links. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ABROAD } from './handlers.ts';
import { type Age, LINKS, Skew } from './scene.ts';

const PAIRS: readonly (readonly [Age, Age])[] = [
  ['old', 'new'],
  ['new', 'old'],
];
/** What the tasks of the worker do to others, in the words of each node. */
const PERMITTED: Readonly<Record<Age, object>> = {
  // At 200b8487 a worker was permitted everything. A later fixture knows permissions, too.
  old: {},
  new: { permissions: { queues: [ABROAD], channels: [ABROAD] } },
};
const TIMEOUT_MS = 120_000;

/** One for each kind; all of them run side by side on the same worker. */
const CASES: Readonly<Record<string, (skew: Skew) => Promise<void>>> = {
  echo: async (skew) => {
    const input = { text: 'grüße ☃', list: [1, null, true] };
    assert.deepEqual(await skew.result(await skew.push('echo', input)), input);
  },
  lines: async (skew) => {
    const id = await skew.push('lines');
    assert.equal(await skew.result(id), 'said');
    assert.deepEqual((await skew.node.lines(id)).slice(0, 3), ['one', 'two', 'three']);
    assert.deepEqual((await skew.node.task(id)).progress, { done: 3, of: 3 });
  },
  steps: async (skew) => {
    const id = await skew.push('steps', { key: 's' });
    assert.deepEqual(await skew.result(id), { numbers: [1, 2], time: 7 });
    assert.equal((await skew.node.task(id)).tries, 2);
    const done = skew.traces().filter((trace) => trace.startsWith('steps s'));
    assert.deepEqual(done, ['steps s first', 'steps s second'], 'a step is done once');
  },
  children: async (skew) => {
    const id = await skew.push('parent', { key: 'child' });
    await skew.traced('held child waits');
    await skew.becomes(id, 'waiting');
    skew.letGo('child');
    assert.deepEqual(await skew.result(id), {
      outcome: 'woken',
      results: [
        { state: 'completed', result: { from: 'parent' } },
        { state: 'completed', result: 'child' },
      ],
    });
  },
  abroad: async (skew) => {
    await skew.node.call('POST', '/signals', { channel: ABROAD, body: 'kept' });
    assert.deepEqual(await skew.result(await skew.push('abroad')), ['abroad', 'kept']);
  },
  signal: async (skew) => {
    const id = await skew.push('signal', { key: 'k' });
    await skew.becomes(id, 'waiting');
    await skew.node.call('POST', '/signals', { channel: 'signal:k', body: { go: 1 } });
    assert.deepEqual(await skew.result(id), { outcome: 'woken', value: { go: 1 } });
    assert.deepEqual(
      skew.traces().filter((trace) => trace.startsWith('signal k')),
      ['signal k waits'],
    );
  },
  approval: async (skew) => {
    const id = await skew.push('approval', { amount: 5 });
    await skew.becomes(id, 'waiting');
    const { approvals } = await skew.node.call('GET', '/approvals');
    const [asked] = approvals.filter((one: { readonly id: string }) => one.id === id);
    assert.deepEqual([asked.title, asked.context, asked.form], ['May it go on?', { amount: 5 }, { of: 1 }]);
    await skew.node.call('POST', `/approvals/${id}`, { action: 'approve', value: 'yes' });
    const { outcome, value } = await skew.result(id);
    assert.deepEqual([outcome, value.action, value.value], ['woken', 'approve', 'yes']);
  },
  time: async (skew) => {
    assert.equal((await skew.result(await skew.push('nap'))).outcome, 'woken');
  },
  retries: async (skew) => {
    const id = await skew.push('flaky');
    assert.equal(await skew.result(id), 3);
    const { attempts } = await skew.node.task(id);
    assert.deepEqual(
      attempts.map(({ outcome }: { readonly outcome: string }) => outcome),
      ['retried', 'retried', 'completed'],
    );
  },
  failures: async (skew) => {
    const { state, reason, error } = await skew.ended(await skew.push('failing', null, { maxAttempts: 1 }));
    assert.deepEqual([state, reason, error.message], ['failed', 'exhausted', 'always']);
  },
  cancels: async (skew) => {
    const id = await skew.push('hang', { key: 'h' });
    await skew.traced('hang h began');
    await skew.node.call('POST', `/tasks/${id}/cancel`, {});
    assert.equal((await skew.ended(id)).state, 'cancelled');
  },
  graphs: async (skew) => {
    const { tasks } = await skew.node.call('POST', '/graphs', {
      tasks: [
        { name: 'a', queue: 'work', handler: 'echo', input: 1 },
        { name: 'b', queue: 'work', handler: 'gather', after: ['a'] },
      ],
    });
    assert.deepEqual(await skew.result(tasks[1].id), [{ state: 'completed', result: 1 }]);
  },
  reuse: async (skew) => {
    for (let i = 0; i < 2; i++) {
      const id = await skew.push('kept', { key: 'r' }, { reuse: true });
      assert.equal(await skew.result(id), 'computed');
    }
    assert.equal(skew.traces().filter((trace) => trace === 'kept r').length, 1, 'it was computed once');
  },
};

for (const [worker, node] of PAIRS) {
  for (const [link, http] of Object.entries(LINKS)) {
    test(`${link}: the ${worker} worker does every kind of task for the ${node} node`, {
      timeout: TIMEOUT_MS,
    }, async (t) => {
      const skew = new Skew(t);
      await skew.startNode(node);
      const secret = await skew.node.enrol('box', PERMITTED[node]);
      await skew.startWorker(worker, { name: 'box', secret, http });
      await Promise.all(Object.entries(CASES).map(([name, run]) => t.test(name, () => run(skew))));
      await skew.stop();
      assert.deepEqual(skew.warnings([...skew.nodes, ...skew.workers]), [], 'both understood everything');
    });
  }
}
