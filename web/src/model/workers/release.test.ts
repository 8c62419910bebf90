import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isShare, policyDraft, policyEdit, policyText, standing } from './release.ts';

const NONE = { canary: 100, pinned: [], refused: [] };

test('a policy is told in words: where workers go, which share, who stays, what gets no work', () => {
  assert.equal(policyText(NONE), 'Nobody is sent to another release.');
  assert.equal(policyText({ ...NONE, target: '0.2.0' }), 'Older workers go to 0.2.0: all of them.');
  assert.equal(
    policyText({ target: '0.2.0', canary: 10, pinned: ['a', 'b'], refused: ['0.1.3'] }),
    'Older workers go to 0.2.0: 10 % of them, always the same ones. 2 workers stay as they are. 0.1.3 gets no work.',
  );
  assert.match(
    policyText({ ...NONE, pinned: ['a'], refused: ['1.0.0', '1.0.1'] }),
    /1 worker stays as it is\. 1\.0\.0, 1\.0\.1 get no work/,
  );
});

test('a worker stands where its updater and the policy say', () => {
  const ready = { state: 'ready' };
  const cases = [
    [{}, 'does not say its release'],
    [{ version: '0.1.0', updater: ready }, 'as it should be'],
    [{ version: '0.1.0', wanted: '0.2.0', updater: ready }, 'goes to 0.2.0 when its tasks have ended'],
    [{ version: '0.1.0', wanted: '0.2.0' }, 'should be 0.2.0, and nothing upgrades it'],
    [{ version: '0.2.0', updater: { state: 'trial' } }, '0.2.0 is on trial'],
    [
      { version: '0.1.0', wanted: '0.2.0', updater: { state: 'waiting', problem: 'no' } },
      'its upgrade came to nothing',
    ],
  ] as const;
  for (const [worker, label] of cases) assert.equal(standing(worker).label, label);
});

test('only what was changed in the form is sent', () => {
  const before = { target: '0.2.0', canary: 10, pinned: ['a', 'b'], refused: ['0.1.3'] };
  assert.deepEqual(policyEdit(before, policyDraft(before)), {});
  assert.deepEqual(policyEdit(before, { target: ' ', canary: '100', pinned: 'b, c', refused: '' }), {
    target: null,
    canary: 100,
    pin: ['c'],
    unpin: ['a'],
    allow: ['0.1.3'],
  });
  assert.deepEqual(policyEdit(NONE, { target: '1.0.0', canary: '100', pinned: '', refused: '0.9.0' }), {
    target: '1.0.0',
    refuse: ['0.9.0'],
  });
});

test('a share is a whole number from 0 to 100', () => {
  assert.deepEqual(['0', '100', '101', '-1', '1.5', ''].map(isShare), [true, true, false, false, false, false]);
});
