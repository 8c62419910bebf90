import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DAZFLOW_TYPES, DazflowRequest } from './dazflow.ts';
import { WorkerRequest } from './frames.ts';

/** The names in the first column of the table under this head. */
function named(head: string): readonly string[] {
  const page = readFileSync(new URL('../../docs/reference/agents.md', import.meta.url), 'utf8');
  const [, table = ''] = page.split(`| ${head} | |\n|---|---|\n`);
  const rows = table.split('\n\n', 1)[0]?.split('\n') ?? [];
  return rows.flatMap((row) =>
    [...(row.split(' | ', 1)[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name as string),
  );
}

test('the reference page lists exactly what an agent and a worker may say', () => {
  assert.deepEqual(new Set(named('an agent sends')), new Set(['connect', ...DAZFLOW_TYPES]));
  const asked = WorkerRequest.options.map(({ shape }) => shape.type.value);
  assert.deepEqual(new Set(named('a worker sends')), new Set(['connect', ...asked]));
});

test('every message of dazflow is taken as its document writes it, whatever else stands in it', () => {
  const id = { task_id: 'task-uuid' };
  for (const said of [
    { type: 'heartbeat' },
    { type: 'task_claim', ...id },
    { type: 'task_progress', ...id, logs: [] },
    { type: 'task_progress', ...id, logs: ['a', { line: 'b', timestamp: '2024-01-20T10:30:00Z' }] },
    { type: 'task_complete', ...id, result: { a: 1 } },
    { type: 'task_complete', ...id },
    { type: 'task_failed', ...id, error: 'why' },
    { type: 'task_failed', ...id },
    { type: 'credential_ack', name: 'discord' },
    { type: 'version', version: '0123456789ab' },
    { type: 'credentials_report', credentials: ['discord'] },
  ]) {
    assert.deepEqual(DazflowRequest.parse({ ...said, more: { than: 'that' } }), said, JSON.stringify(said));
  }
});
