import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_POLICY, type UpgradePolicy } from '../../core/release/policy.ts';
import type { World } from '../../core/world.ts';
import type { ReleaseReport, UpgradeOrder } from '../../protocol/frames.ts';
import { UpgradeWatch } from './upgrade-watch.ts';

const REPORT: ReleaseReport = { version: '0.1.0', protocol: [1, 1], updater: { state: 'ready' } };

/** A watch whose policy, release and time are what a test says. */
function scene() {
  const state = { policy: NO_POLICY as UpgradePolicy, served: '0.2.0' as string | undefined, now: 0, away: false };
  const due: { at: number; fn: () => void }[] = [];
  const world = {
    clock: { wall: () => state.now, monotonic: () => state.now },
    timers: {
      after: (ms: number, fn: () => void) => {
        const one = { at: state.now + ms, fn };
        due.push(one);
        return () => void due.splice(due.indexOf(one), due.includes(one) ? 1 : 0);
      },
    },
  } as unknown as World;
  const watch = new UpgradeWatch({
    policy: () => (state.away ? Promise.reject(new Error('away')) : Promise.resolve(state.policy)),
    served: () => Promise.resolve(state.served),
    world,
  });
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return {
    state,
    watch,
    due,
    settle,
    pass: async (ms: number): Promise<void> => {
      const until = state.now + ms;
      for (let next = first(); next !== undefined && next.at <= until; next = first()) {
        due.splice(due.indexOf(next), 1);
        state.now = next.at;
        next.fn();
        await settle();
      }
      state.now = until;
    },
  };
  function first() {
    return due.toSorted((a, b) => a.at - b.at)[0];
  }
}

const TO: UpgradePolicy = { ...NO_POLICY, target: '0.2.0' };

test('a worker is told within seconds of a change, once, and again after a minute', async () => {
  const { state, watch, pass, settle } = scene();
  const told: UpgradeOrder[] = [];
  watch.watch('box', REPORT, (order) => told.push(order));
  await settle();
  assert.deepEqual(told, []);
  state.policy = TO;
  await pass(2500);
  assert.deepEqual(told, [{ current_version: '0.1.0', required_version: '0.2.0' }]);
  await pass(30_000);
  assert.equal(told.length, 1);
  await pass(60_000);
  assert.equal(told.length, 2);
});

test('nobody is told to go where this node cannot lead them, or while an updater waits', async () => {
  const { state, watch, pass } = scene();
  state.policy = TO;
  state.served = '0.1.5';
  const told: string[] = [];
  watch.watch('box', REPORT, () => told.push('box'));
  watch.watch('late', { ...REPORT, updater: { state: 'waiting', until: 10_000 } }, () => told.push('late'));
  await pass(4000);
  assert.deepEqual(told, []);
  state.served = '0.2.0';
  await pass(4000);
  assert.deepEqual(told, ['box']);
  await pass(4000);
  assert.deepEqual(told, ['box', 'late']);
});

test('who has gone is told nothing, and nothing is read for nobody', async () => {
  const { state, watch, due, settle } = scene();
  const told: UpgradeOrder[] = [];
  state.policy = TO;
  const stop = watch.watch('box', REPORT, (order) => told.push(order));
  stop();
  await settle();
  assert.deepEqual(told, []);
  assert.equal(due.length, 0);
});

test('a store that is away wants nothing', async () => {
  const { state, watch, pass } = scene();
  state.policy = TO;
  state.away = true;
  const told: UpgradeOrder[] = [];
  watch.watch('box', REPORT, (order) => told.push(order));
  await pass(10_000);
  assert.deepEqual(told, []);
  state.away = false;
  await pass(2500);
  assert.equal(told.length, 1);
});

test('a worker of a refused release, or of another protocol, is let in only to end what it holds', async () => {
  const { state, watch } = scene();
  state.policy = { ...TO, refused: ['0.1.0'] };
  await assert.rejects(watch.admit('box', REPORT, false), { code: 'UPGRADE_REQUIRED' });
  await watch.admit('box', REPORT, true);
  assert.deepEqual(await watch.orderNow('box', REPORT), {
    current_version: '0.1.0',
    required_version: '0.2.0',
    must: true,
  });
  state.policy = NO_POLICY;
  await watch.admit('box', REPORT, false);
  await assert.rejects(watch.admit('box', { ...REPORT, protocol: [8, 9] }, false), { code: 'UPGRADE_REQUIRED' });
  await watch.admit('of an older program', undefined, false);
});

test('a version of another program counts as it is; one that is none is never told', async () => {
  const { state, watch, settle } = scene();
  state.policy = TO;
  state.served = undefined;
  const told: string[] = [];
  watch.watchVersion('agent', '0.1.0', ({ required_version }) => told.push(required_version));
  watch.watchVersion('odd', 'nightly', () => told.push('odd'));
  await settle();
  assert.deepEqual(told, ['0.2.0']);
});
