import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launchName } from './launch-name.ts';

test('the same ticket has the same name, and another one another', () => {
  const name = launchName({ pool: 'papers', ticketId: 'tk_1' });
  assert.match(name, /^leasehold-papers-[0-9a-f]{20}$/);
  assert.equal(launchName({ pool: 'papers', ticketId: 'tk_1' }), name);
  assert.notEqual(launchName({ pool: 'papers', ticketId: 'tk_2' }), name);
  // The same letters, cut elsewhere.
  assert.notEqual(launchName({ pool: 'a', ticketId: 'b/c' }), launchName({ pool: 'a/b', ticketId: 'c' }));
});

test('whatever the pool is called, the name is one that DNS takes', () => {
  for (const pool of ['papers', 'a.b_c', 'x'.repeat(63), '9-9', 'a----------------------------------b', 'A B', '']) {
    const name = launchName({ pool, ticketId: 'tk_1' });
    assert.match(name, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, pool);
    assert.ok(!name.includes('--'), name);
  }
});
