import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ProcessRow, rowOf } from './process-table.ts';
import { eventually, isAlive } from './process-trial.test.ts';
import { isGroup, type SweepTarget, signal, survivors, sweep } from './sweep.ts';

const PATH = '/usr/local/bin:/usr/bin:/bin';

/** A process of its own session that sleeps. */
async function sleeper(t: TestContext, env: Readonly<Record<string, string>>): Promise<number> {
  return (await started(t, 'exec sleep 1000', env)).pid ?? 0;
}

async function started(t: TestContext, command: string, env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', `echo on; ${command}`], { env: { PATH, ...env }, detached: true });
  t.after(() => signal(-(child.pid ?? 0), 'SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

function preyOf(target: Partial<SweepTarget> & Pick<SweepTarget, 'incarnation'>): SweepTarget {
  return { lease: '1/1', leader: undefined, spareLeader: false, groups: new Set(), family: [], ...target };
}

test('only processes with both marks, each in whole, are ended', async (t) => {
  const incarnation = randomUUID();
  const worker = { LEASEHOLD_WORKER: incarnation };
  const ours = await sleeper(t, { ...worker, LEASEHOLD_LEASE: '1/1' });
  const others = [
    await sleeper(t, { ...worker, LEASEHOLD_LEASE: '1/11' }),
    await sleeper(t, { ...worker, LEASEHOLD_LEASE: '11/1' }),
    await sleeper(t, worker),
    await sleeper(t, { LEASEHOLD_LEASE: '1/1' }),
    await sleeper(t, { LEASEHOLD_WORKER: `${incarnation}x`, LEASEHOLD_LEASE: '1/1' }),
    await sleeper(t, { TEXT: `\nLEASEHOLD_WORKER=${incarnation}\nLEASEHOLD_LEASE=1/1\n` }),
  ];
  assert.deepEqual(await sweep(preyOf({ incarnation })), { ended: 1, left: 0 });
  assert.equal(isAlive(ours), false);
  assert.deepEqual(others.filter(isAlive), others);
});

test('every process of a worker is ended, whatever its lease, when all are asked for', async (t) => {
  const incarnation = randomUUID();
  const worker = { LEASEHOLD_WORKER: incarnation };
  const ours = [await sleeper(t, worker), await sleeper(t, { ...worker, LEASEHOLD_LEASE: '2/1' })];
  await sweep(preyOf({ incarnation, lease: 'all' }));
  assert.deepEqual(ours.filter(isAlive), []);
});

test('a process that is becoming another program is found all the same', async (t) => {
  const incarnation = randomUUID();
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-sweep-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const script = join(folder, 'again.sh');
  // For a moment of each `exec` it shows no environment.
  writeFileSync(script, '#!/bin/sh\nexec "$0"\n', { mode: 0o755 });
  for (let i = 0; i < 60; i++) {
    const { pid = 0 } = await started(t, `exec ${script}`, { LEASEHOLD_WORKER: incarnation });
    await sweep(preyOf({ incarnation, lease: 'all' }));
    assert.equal(isAlive(pid), false, `escaped the sweep ${i + 1}`);
  }
});

test('descendants are followed through processes that bear no mark', async (t) => {
  const child = await started(t, 'env -i setsid sh -c "setsid sleep 1000 & wait" & wait', {});
  const leader = child.pid ?? 0;
  const sleeps = ({ pid }: ProcessRow): boolean => readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sleep');
  await eventually(async () => {
    const seen = await survivors(preyOf({ incarnation: 'none', leader }));
    return seen.length === 3 && seen.some(sleeps);
  }, 'all have started, and become what they are to be');
  const found = await survivors(preyOf({ incarnation: 'none', leader }));
  const withoutLeader = await survivors(preyOf({ incarnation: 'none', leader, spareLeader: true }));
  assert.equal(withoutLeader.length, 2);
  await sweep(preyOf({ incarnation: 'none', leader }));
  assert.deepEqual(found.map(({ pid }) => pid).filter(isAlive), []);
});

test('a zombie is no survivor', async (t) => {
  const incarnation = randomUUID();
  // The shell becomes a program that never asks how its child ended.
  const env = { LEASEHOLD_WORKER: incarnation, LEASEHOLD_LEASE: '1/1' };
  const child = await started(t, 'sleep 0 & exec env -u LEASEHOLD_LEASE sleep 1000', env);
  const leader = child.pid ?? 0;
  await eventually(
    async () => (await survivors(preyOf({ incarnation, leader, spareLeader: true }))).length === 0,
    'its child has ended',
  );
  assert.ok(rowOf(leader) !== undefined);
});

test('whoever sweeps is never its own prey', async () => {
  const found = await survivors(preyOf({ incarnation: 'none', leader: process.pid, lease: 'all' }));
  assert.ok(found.every(({ pid }) => pid !== process.pid && pid !== 1));
});

test('numbers that stand for oneself or for everybody are no groups', () => {
  assert.deepEqual([0, 1, -5, 1.5, Number.NaN, '7', undefined, 2].filter(isGroup), [2]);
});
