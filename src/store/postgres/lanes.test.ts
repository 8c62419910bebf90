import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LaneRow, Lanes } from './lanes.ts';

const row = (id: number): LaneRow => ({
  id,
  queue_id: 1,
  queue: 'mail',
  handler: 'send',
  paused: false,
  placement: null,
  fair_key: null,
  weight: 1,
  limits: null,
  slots: '[]',
  served_by: null,
});

test('a lane that is asked for stays known whatever else comes, and one that is not is forgotten in the end', () => {
  const lanes = new Lanes();
  for (let id = 1; id <= 300_000; id++) {
    lanes.learn(row(id));
    if (id % 1000 === 0) assert.equal(lanes.known(1)?.queue, 'mail');
  }
  assert.equal(lanes.known(2), undefined);
  assert.equal(lanes.isLimited(2), undefined, 'nothing is said of it');
  assert.equal(lanes.known(300_000)?.queueId, 1);
});

test('what a call has made sure of outlives as many lanes as any call names', () => {
  const lanes = new Lanes();
  for (let id = 1; id <= 99_999; id++) lanes.learn(row(id));
  lanes.learn(row(500_000));
  for (let id = 200_000; id < 210_000; id++) lanes.learn(row(id));
  assert.equal(lanes.isLimited(500_000), false);
});
