import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULTS, fieldOfPoolProblem, policyDraft, policyIn, poolDraft, poolIn } from './form.ts';

const POLICY = {
  min: 1,
  max: 7,
  tasksPerWorker: 2,
  scaleUpThreshold: 3,
  burst: 4,
  idleMs: 90_000,
  cooldownUpMs: 0,
  cooldownDownMs: 500,
  startMs: 60_000,
};
const POOL = {
  name: 'papers',
  queues: ['papers', 'late'],
  worker: { life: 'stay', slots: 4, tags: ['gpu'] },
  launcher: { kind: 'command', argv: ['start', '{ticket_id}'] },
  policy: POLICY,
} as const;

test('a pool goes into the form and comes out as it was', () => {
  const { body, problems } = poolIn(poolDraft(POOL));
  assert.deepEqual(problems, {});
  assert.deepEqual(body, {
    ...POOL,
    policy: { ...POLICY, idleMs: '1m30s', cooldownUpMs: '0s', cooldownDownMs: '500ms', startMs: '1m' },
  });
});

test('what is empty is not sent, and so has its default', () => {
  assert.deepEqual(policyIn({ ...DEFAULTS, targetWaitMs: ' ', max: '' }).policy.max, undefined);
  assert.equal('targetWaitMs' in policyIn(policyDraft(POLICY)).policy, false);
  assert.equal('queues' in poolIn({ ...poolDraft(undefined), name: 'p' }).body, false);
});

test('what is written wrong is said at its field, before the node is asked', () => {
  const { problems } = policyIn({ ...DEFAULTS, max: '-1', idleMs: 'soon', min: '20' });
  assert.deepEqual(Object.keys(problems).toSorted(), ['idleMs', 'max', 'min']);
  assert.equal(policyIn({ ...DEFAULTS, min: '11' }).problems.min, 'is more than the most');
  for (const settings of ['[1]', '{', '"x"', 'null'])
    assert.ok(poolIn({ ...poolDraft(POOL), settings }).problems.settings, settings);
  assert.equal(poolIn(poolDraft(undefined)).problems.name, 'is required');
});

test('a worker that takes one task has one slot, whatever was written before', () => {
  assert.equal(poolIn({ ...poolDraft(POOL), life: 'once' }).body.worker.slots, 1);
});

test('the kind of a launcher is what was chosen, not what its settings say', () => {
  const { body } = poolIn({ ...poolDraft(POOL), settings: '{"kind": "ssh", "host": "h"}' });
  assert.deepEqual(body.launcher, { kind: 'command', host: 'h' });
});

test('an error of the node stands at its field', () => {
  for (const [field, at] of [
    ['policy.min', 'min'],
    ['policy.colour', undefined],
    ['worker.tags', 'tags'],
    ['launcher.argv[0]', 'settings'],
    ['queue name', 'queues'],
    ['queues', 'queues'],
    ['pool name', 'name'],
    [7, undefined],
  ] as const)
    assert.equal(fieldOfPoolProblem(field), at, String(field));
});
