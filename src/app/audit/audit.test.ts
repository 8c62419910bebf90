import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { AuditEntry } from '../../store/store.ts';
import { open } from '../open.ts';
import { operate } from '../operate.ts';

const said = (entries: readonly AuditEntry[]): readonly string[] =>
  entries.map(({ face, role, action, target, outcome, by = '' }) =>
    [face, role, action, target, outcome, by].join(' ').trim(),
  );

test('what a program changes for others is told, its own work is not', async (t) => {
  const app = await open('memory:');
  t.after(() => app.close());
  await app.setLimit('papers', { concurrent: 2 }, 'anna');
  await app.workflows.list();
  await app.setWorker({ name: 'box', enabled: false });
  await app.removeLimit('papers');
  await assert.rejects(app.triggers.remove('nothing'));
  const { id } = await app.engine.push({ queue: 'q', handler: 'h' });
  await app.cancel(id);
  await app.runs.cancel(id).catch(() => {});
  const entries = await app.engine.audit.list();
  assert.deepEqual(said(entries), [
    'library owner removeTrigger nothing refused',
    'library owner removeLimit papers done',
    'library owner editWorker box done',
    'library owner editLimit papers done anna',
  ]);
  assert.equal(entries[0]?.actor, userInfo().username);
  assert.deepEqual(JSON.parse(entries[3]?.after ?? ''), { concurrent: 2, strategy: 'queue', revision: 1 });
  assert.deepEqual([entries[3]?.before, JSON.parse(entries[1]?.before ?? '').concurrent], [undefined, 2]);
});

test('what a command does directly on a store is told, a look is not', async (t) => {
  const store = `sqlite:${join(tempFolder('audit'), 'work.db')}`;
  const operator = await operate({ store, create: true });
  t.after(() => operator.close());
  await operator.call('createLimit', { body: { name: 'papers', concurrent: 1 }, by: 'anna' });
  await operator.call('listLimits');
  await operator.call('pauseQueue', { params: { queue: 'q' } });
  assert.deepEqual(said(await operator.engine.audit.list()), [
    'cli-on-the-store owner pauseQueue q done',
    'cli-on-the-store owner createLimit papers done anna',
  ]);
  const { entries } = await operator.call('listAudit', { query: { action: 'pauseQueue' } });
  const after = { paused: true, ready: 0, running: 0, scheduled: 0, waiting: 0, failed: 0, cancelled: 0 };
  assert.deepEqual([entries.length, entries[0]?.after], [1, after]);
});

test('models, agents and JSON-RPC are told by the way that they came', async (t) => {
  const node = await nodeScene(t);
  const { id } = await node.engine.push({ queue: 'a2a', handler: 'h', unique: 'a2a:talk:m' });
  const headers = { accept: 'application/json, text/event-stream' };
  const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });
  await node.ask('/mcp', { headers, body: rpc('tools/call', { name: 'pause_queue', arguments: { queue: 'q' } }) });
  await node.ask('/a2a', { body: rpc('CancelTask', { id }) });
  await node.ask('/rpc', { body: rpc('tasks.delete', { id: 'nobody' }) });
  assert.deepEqual(said(await node.engine.audit.list()), [
    'rpc admin deleteTask nobody refused',
    `a2a admin cancelTask ${id} done`,
    'mcp admin pauseQueue q done',
  ]);
});

test('pushes, claims and settles write no entry', async (t) => {
  const node = await nodeScene(t);
  await node.call('pushTasks', '/api/v1/tasks', { body: { queue: 'q', handler: 'h' } });
  const worker = await node.engine.workers.register({ name: 'w', incarnation: 'w', slots: 1, handlers: ['h'] });
  const [grant] = await node.engine.claim({ worker, handlers: ['h'], queues: ['q'], max: 1 });
  if (grant !== undefined) await node.engine.complete(grant, 1);
  assert.deepEqual(await node.engine.audit.list(), []);
});
