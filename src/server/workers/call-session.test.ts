import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallSession } from './call-session.ts';

function scene() {
  const time = { now: 1000 };
  return { time, session: new CallSession('box/1', () => time.now) };
}

test('a worker that calls is there until it was silent for longer than a heartbeat', async () => {
  const { time, session } = scene();
  time.now += 15_000;
  assert.equal(session.isSilent(), false);
  time.now += 1;
  assert.equal(session.isSilent(), true);
  await session.during(() => Promise.resolve());
  assert.equal(session.isSilent(), false);
});

test('it is there for as long as a call of it is under way, however that ends', async () => {
  const { time, session } = scene();
  const answer = Promise.withResolvers<number>();
  const call = session.during(() => answer.promise);
  time.now += 60_000;
  assert.equal(session.isSilent(), false);
  answer.reject(new Error('no'));
  await assert.rejects(call, /no/);
  assert.equal(session.isSilent(), false);
  time.now += 15_001;
  assert.equal(session.isSilent(), true);
  assert.equal(await session.during(() => Promise.resolve(7)), 7);
});

test('one that has signed off is gone at once, and is there again with its next call', async () => {
  const { session } = scene();
  session.signOff();
  assert.equal(session.isSilent(), true);
  await session.during(() => Promise.resolve());
  assert.equal(session.isSilent(), false);
});

test('whoever takes its place says so to it', () => {
  let times = 0;
  const session = new CallSession(
    'box/1',
    () => 0,
    () => times++,
  );
  session.replaced();
  assert.equal(times, 1);
  new CallSession('box/1', () => 0).replaced();
});
