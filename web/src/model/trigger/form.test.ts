import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOfTriggerProblem, type TriggerLike, triggerDraft, triggerIn } from './form.ts';

const NONE = { queue: '', handler: '', input: {} };
const draft = (part: object) => ({ ...triggerDraft(undefined), name: 't', ...part });

/** As the form does that has read a trigger and changes nothing. */
const through = (of: TriggerLike) => {
  const { queue = '', handler = '' } = (of.push ?? {}) as { queue?: string; handler?: string };
  return triggerIn(triggerDraft(of), { queue, handler, input: of.input });
};

test('each kind and each action goes into the form and comes out as it was', () => {
  for (const of of [
    {
      name: 'a',
      kind: 'webhook',
      signature: 'github',
      window: '10m',
      push: { queue: 'q', handler: 'h' },
      input: { n: 1 },
    },
    {
      name: 'b',
      kind: 'event',
      on: 'task_finished',
      states: ['failed'],
      queues: ['x', 'y'],
      push: { queue: 'q', priority: 3 },
    },
    { name: 'c', kind: 'event', on: 'work_added', together: true, check: 'papers' },
    { name: 'd', kind: 'file', folder: '/srv', match: '*.pdf', node: 'n', run: { workflow: 'ingest' }, rate: 5 },
    { name: 'e', kind: 'manual', run: { use: 'm' }, execution: 'loop', input: { a: [1] }, tell: false },
    { name: 'f', kind: 'manual', run: { machine: { states: {} }, title: 'x' } },
  ] as const satisfies readonly TriggerLike[])
    assert.deepEqual(through(of), { body: of, problems: {} }, of.name);
});

test('the secret of a webhook stays as it is unless another is given', () => {
  assert.equal(triggerDraft({ name: 'a', kind: 'webhook' }).secret, 'keep');
  const secret = (part: object) => triggerIn(draft({ kind: 'webhook', ...part }), { ...NONE, queue: 'q' });
  assert.equal('secret' in secret({ secret: 'keep', secretText: 'x' }).body, false);
  assert.equal('secret' in secret({ secret: 'made' }).body, false);
  assert.deepEqual(secret({ secret: 'env', secretText: 'LEASEHOLD_HOOK_A' }).body['secret'], {
    env: 'LEASEHOLD_HOOK_A',
  });
  assert.ok(secret({ secret: 'env', secretText: 'HOME' }).problems.secretText);
  assert.ok(secret({ secret: 'value', secretText: 'short' }).problems.secretText);
});

test('fields of another kind are not sent', () => {
  const { body } = triggerIn(
    draft({ kind: 'manual', folder: '/x', queues: 'a', window: '1m', action: 'check', check: 'p' }),
    NONE,
  );
  assert.deepEqual(body, { name: 't', kind: 'manual', check: 'p' });
  const worker = triggerIn(
    draft({ kind: 'event', on: 'worker_lost', queues: 'a', states: ['failed'], action: 'check', check: 'p' }),
    NONE,
  );
  assert.deepEqual(worker.body, { name: 't', kind: 'event', on: 'worker_lost', check: 'p' });
});

test('what is missing or written wrong is said at its field', () => {
  const wrong = (part: object, task = NONE) => Object.keys(triggerIn(draft(part), task).problems);
  assert.deepEqual(wrong({ name: ' ', action: 'check', check: 'p' }), ['name']);
  assert.deepEqual(wrong({}), ['handler']);
  assert.deepEqual(wrong({ more: '[1]' }, { ...NONE, queue: 'q' }), ['more']);
  assert.deepEqual(wrong({ action: 'run' }), ['run']);
  assert.deepEqual(wrong({ action: 'run', runBy: 'json', run: '{}', input: '{' }), ['input', 'run']);
  assert.deepEqual(wrong({ action: 'check' }), ['check']);
  assert.deepEqual(wrong({ kind: 'file', folder: 'here', action: 'check', check: 'p' }), ['folder']);
  assert.deepEqual(wrong({ rate: '0', action: 'check', check: 'p' }), ['rate']);
});

test('an error of the node stands at its field', () => {
  for (const [field, at] of [
    ['trigger name', 'name'],
    ['name', 'name'],
    ['secret.value', 'secretText'],
    ['push', 'handler'],
    ['push.queue', 'handler'],
    ['push.placement', 'more'],
    ['queue name', 'handler'],
    ['pool name', 'check'],
    ['run.machine', 'run'],
    ['window', 'window'],
    ['colour', undefined],
    [undefined, undefined],
  ] as const)
    assert.equal(fieldOfTriggerProblem(field), at, String(field));
});
