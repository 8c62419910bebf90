import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../conformance/kit/temp-folder.ts';
import { VirtualWorld } from '../conformance/kit/virtual-world.ts';
import type { Turn } from '../store.ts';
import { openSqlite } from './open.ts';

test('a turn of values alone wakes no other process, and one with lines or an end does', async (t) => {
  const file = join(tempFolder('turn-bell'), 'store.db');
  const waiting = await openSqlite({ file, world: new VirtualWorld(), housekeeping: false });
  waiting.watch({ wanted: () => true, onChange: () => {} });
  const store = await openSqlite({ file, world: new VirtualWorld(), housekeeping: false });
  t.after(() => Promise.all([waiting.close(), store.close()]));
  const rung = (): boolean => {
    const bytes = readFileSync(`${file}-bell`);
    writeFileSync(`${file}-bell`, Buffer.concat([Buffer.from([0]), bytes.subarray(1)]));
    return bytes[0] === 1;
  };
  const [spec = 0] = await store.specIntern({ specs: ['{}'] });
  const [lane] = await store.laneIntern({ lanes: [{ queue: 'q', handler: 'h' }] });
  await store.taskPush({ items: [{ lane: lane?.id as number, spec, priority: 0, maxTries: 3, payload: '1' }] });
  assert.ok(rung(), 'a push is heard');
  const holder = await store.workerRegister({ name: 'w', incarnation: 'w1', slots: 1, tags: [] });
  const lanes = [{ lane: lane?.id as number, max: 1 }];
  const [claimed] = await store.taskClaim({ claims: [{ holder, ttlMs: 1000, max: 1, lanes }] });
  const [grant] = claimed?.grants ?? [];
  assert.ok(grant);
  const { task, attempt } = grant;
  const take = async (key: string, more: Partial<Turn> = {}): Promise<boolean> => {
    rung();
    const entries = [{ key, kind: 'value', value: '1' }] as const;
    const [answer] = await store.taskTurn({ items: [{ task, attempt, entries, then: { go: 'on' }, ...more }] });
    assert.equal(answer?.kind, 'done');
    return rung();
  };
  assert.equal(await take('one'), false);
  assert.equal(await take('two', { logs: [{ seq: 1, at: 0, stream: 'stdout', text: 'line' }] }), true);
  assert.equal(await take('three', { then: { go: 'end', to: 'completed', reason: 'none' } }), true);
});
