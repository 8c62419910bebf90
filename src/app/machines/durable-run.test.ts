import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { open } from '../open.ts';
import { runOnStore } from './durable-run.ts';

const folder = tempFolder('durable-run');

const ASK = {
  spec: 'flatmachine',
  spec_version: '4.2.1',
  data: {
    name: 'ask',
    states: {
      ask: { type: 'initial', wait_for: 'approval/{{ input.id }}', transitions: [{ to: 'end' }] },
      end: { type: 'final' },
    },
  },
};

test('a run that a process began on a store may go on with a worker of another host', async (t) => {
  const store = `sqlite:${join(folder, 'work.db')}`;
  const stop = new AbortController();
  const gone = new Error('the process is gone');
  const running = runOnStore(
    { value: ASK, folder: '.', name: 'ask' },
    { store, input: { id: 7 }, executionId: 'ask-7', stop: stop.signal, onStarted: () => stop.abort(gone) },
  );
  await assert.rejects(running, gone);
  const app = await open(store);
  t.after(() => app.close());
  const run = await app.engine.runs.get('ask-7');
  const record = await app.engine.get(run?.task ?? 0);
  assert.deepEqual(await app.engine.permissionsOf(record?.spec ?? 0), {
    handlers: ['machine'],
    queues: ['machines'],
    waits: ['approval/*'],
  });
});
