/** Attacks on runs by a worker of another host that holds one, or held it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proofOf, RawWorker } from '../../support/raw-worker.ts';
import { target } from '../scene.ts';

const ASK = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'ask',
    context: { list: '{{ input.list }}' },
    states: {
      ask: { type: 'initial', wait_for: 'approval/{{ input.id }}', transitions: [{ to: 'end' }] },
      end: { type: 'final' },
    },
  },
};

async function scene(t: Parameters<typeof target>[0]) {
  const { node, log } = await target(t);
  const hireFor = async (name: string): Promise<RawWorker> => {
    const { secret } = await node.call('createWorker', '/api/v1/workers', { body: { name } });
    const worker = await RawWorker.dial(node.service.address);
    await worker.enter({ name, secret, handlers: ['machine'] });
    return worker;
  };
  const start = (name: string, input: object) =>
    node.call('startRun', '/api/v1/runs', { body: { machine: ASK, name, input } });
  return { node, log, hireFor, start };
}

test('a worker that lost a run neither writes its steps, nor draws on its budget, nor reads or ends what belongs to it', async (t) => {
  const { node, hireFor, start } = await scene(t);
  const [before, after] = [await hireFor('before'), await hireFor('after')];
  const run = await start('approve-1', { id: 1 });
  await node.call('setRunBudget', '/api/v1/runs/approve-1/budgets', { body: { unit: 'calls', hard: 5 } });
  const old = proofOf(await before.claimOne());
  await before.told('task_release', { lease: old });
  const lease = proofOf(await after.claimOne());
  assert.equal(lease.attempt, 2);
  const entries = [{ key: 's:000001', kind: 'value', value: '{"n":1}' }];
  const calls = [{ unit: 'calls', amount: 5 }];
  const forged = [old, { ...old, attempt: 2 }, { ...lease, token: old.token }];
  for (const proof of forged) {
    for (const [type, fields] of [
      ['task_turn', { entries, then: { go: 'on' } }],
      ['task_turn', { entries, draw: calls, then: { go: 'on' } }],
      ['task_turn', { entries, spend: calls, then: { go: 'on' } }],
      ['task_turn', { entries, then: { go: 'complete', result: '1' } }],
      ['journal', {}],
      ['cancel_children', { tasks: [lease.task] }],
      ['definition', { hash: run.definition }],
    ] as const) {
      assert.equal((await before.denied(type, { lease: proof, ...fields })).code, 'LEASE_LOST', type);
    }
  }
  assert.deepEqual(await after.told('journal', { lease }), []);
  const { budgets, state } = await node.call('getRun', '/api/v1/runs/approve-1');
  assert.deepEqual([state, budgets[0].taken], ['running', 0]);
  // Who holds it waits for the answer, and does not give it: neither to this run nor to another one.
  for (const channel of ['approval/1', 'approval/2']) {
    const signal = { entries: [{ key: 'x', kind: 'signal', channel, body: '{}' }], then: { go: 'on' } };
    assert.equal((await after.denied('task_turn', { lease, ...signal })).code, 'FORBIDDEN');
  }
  await after.told('task_turn', { lease, entries: [], then: { go: 'park', key: 'w', channel: 'approval/1' } });
});

const FORGED: Readonly<Record<string, readonly [key: string, value: unknown][]>> = {
  'no steps': [
    ['s:000001', null],
    ['s:000002', 'x'],
    ['s:000003', []],
    ['s:999999999999999999', { n: 1 }],
    ['b:1', null],
    ['b:99999999999999999999', 7],
  ],
  'steps without patches': [['s:000001', { n: 1, step: 1, state: 'ask', next: 'end' }]],
  'patches of another form': [
    ['s:000001', { n: 1, step: 1, state: 'ask', next: 'x', patch: { at: 7, gone: 'x', context: { from: { a: 7 } } } }],
    ['s:000002', { n: 2, step: 2, state: 'ask', next: 'x', patch: { context: { more: { a: 7 }, drop: 3, set: [] } } }],
  ],
  'contexts that are no maps': [
    ['s:000001', { n: 1, step: 1, state: 'ask', next: 'x', patch: { at: { context: null, state: {}, phase: 7 } } }],
  ],
  'a context that doubles at every step': Array.from({ length: 40 }, (_, i) => [
    `s:${String(i + 1).padStart(6, '0')}`,
    {
      n: i + 1,
      step: i + 1,
      state: 'ask',
      next: 'ask',
      patch: {
        context: {
          from: {
            a: {
              list: [
                { in: 'context', at: [] },
                { in: 'context', at: [] },
              ],
            },
          },
        },
      },
    },
  ]),
  'a usage of another form': [['s:000001', { n: 1, step: 1, state: 'ask', next: 'ask', patch: {} }]],
};

for (const [what, forged] of Object.entries(FORGED)) {
  test(`a journal that its worker has forged is shown and forked without harm: ${what}`, async (t) => {
    const { node, log, hireFor, start } = await scene(t);
    const worker = await hireFor('forger');
    const { id } = await start('run', { id: 1, list: ['x'.repeat(1000)] });
    const lease = proofOf(await worker.claimOne());
    const entries = forged.map(([key, value]) => ({
      key,
      kind: 'value',
      value: JSON.stringify(value),
      usage: '[null,7,{"tokens":"x","cost":-1}]',
    }));
    await worker.told('task_turn', { lease, entries, then: { go: 'on' } });
    await worker.told('task_failed', { lease, error: '"x"', giveUp: true });
    const looked = forged.filter((_, i) => i < 6 || i === forged.length - 1);
    for (const path of [
      '/api/v1/runs',
      '/api/v1/runs/run',
      '/api/v1/runs/run/steps',
      ...looked.map(([key]) => `/api/v1/runs/run/steps/${key}`),
      `/api/v1/tasks/${id}/explain`,
    ]) {
      const { status, body } = await node.ask(path);
      assert.ok(status < 500, `${path}: ${status} ${JSON.stringify(body)}`);
      assert.ok(JSON.stringify(body).length < 2 ** 25, path);
    }
    for (const fork of [{}, { step: 'start' }, ...looked.map(([step]) => ({ step })), { context: { a: 1 } }]) {
      const { status, body } = await node.ask('/api/v1/runs/run/fork', { body: fork });
      assert.ok(status < 500, `${JSON.stringify(fork)}: ${status} ${JSON.stringify(body)}`);
    }
    assert.deepEqual(
      log.filter(({ level }) => level === 'error'),
      [],
    );
  });
}
