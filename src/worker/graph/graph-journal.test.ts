import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GraphJournal } from './graph-journal.ts';

test('what a worker writes into the journal names nobody else as its task', () => {
  const journal = new GraphJournal();
  assert.throws(() => journal.load([{ key: 'n:0/0', value: '{"id":"x","task":1}' }]), /n:0\/0 is no child/);
  journal.load([{ key: 'n:0/0', value: '{"id":"x","task":1}', child: true }]);
  assert.equal(journal.task(0, 0), 1);
});

test('a mark that is not one is not believed', () => {
  for (const value of ['{"kept":-1,"rejected":0}', '{"kept":1}', '7', '{"kept":1,"rejected":0,"at":"now"}']) {
    assert.throws(() => new GraphJournal().load([{ key: 'n:0', value }]), /n:0 is of another form/);
  }
});
