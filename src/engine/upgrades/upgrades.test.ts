import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Upgrades } from './upgrades.ts';

/** One text, compared before it is replaced, as a store does it. */
function upgrades(interfere: (value: string | undefined) => string | undefined = (value) => value): Upgrades {
  let kept: string | undefined;
  return new Upgrades({
    store: {
      settingRead: () => Promise.resolve(kept),
      settingSwap({ before, value }) {
        kept = interfere(kept);
        if (kept !== before) return Promise.resolve(false);
        kept = value;
        return Promise.resolve(true);
      },
    },
  });
}

test('edits of several at once do not undo each other', async () => {
  const one = upgrades();
  await Promise.all([one.edit({ target: '0.2.0' }), one.edit({ canary: 10 }), one.edit({ pin: ['a'] })]);
  assert.deepEqual(await one.policy(), { target: '0.2.0', canary: 10, pinned: ['a'], refused: [] });
});

test('an edit that never finds what it has read gives up', async () => {
  let n = 0;
  const one = upgrades(() => JSON.stringify({ canary: n++ % 100 }));
  await assert.rejects(one.edit({ target: '0.2.0' }), { code: 'CONFLICT' });
});
