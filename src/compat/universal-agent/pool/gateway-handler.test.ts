import assert from 'node:assert/strict';
import { type GatewayScript, gatewayServer, saying, text } from '../../../../test/support/agents/gateway-server.ts';
import { onBothStores } from '../../../../test/support/runs/run-pools.ts';
import { tempFolder } from '../../../store/conformance/kit/temp-folder.ts';
import { getRun, listRunAttempts, queueRun, type RuntimeDb, requestCancel, waitForRun } from '../../index.ts';

const folder = tempFolder('gateway-runs');
const iteration = (n: number, tokens_used: number): object => ({
  type: 'iteration_end',
  data: { iteration: n, tokens_used },
});
const call = { type: 'tool_call', data: { id: 't1', name: 'search', input: { q: 'x' } } };
const closing: GatewayScript = (socket) => socket.terminate();
const sayThen =
  (then: GatewayScript, ...events: readonly object[]): GatewayScript =>
  (socket, asked) => {
    for (const event of events) socket.send(JSON.stringify(event));
    then(socket, asked);
  };
/** What was sent before arrives first. */
const breakOff: GatewayScript = (socket) => socket.close();

async function logOf(conn: RuntimeDb, runId: string): Promise<readonly string[]> {
  const { engine } = conn.app;
  const run = (await engine.runs.get(runId)) ?? assert.fail();
  const lines: string[] = [];
  for await (const item of engine.logs.follow(run.task)) if ('text' in item) lines.push(String(item.text));
  return lines;
}

onBothStores(
  folder,
  'a run is performed by the gateway: its words are the log, its figures the result',
  async (t, scene) => {
    const server = await gatewayServer(t, [
      saying(text('Reading '), text('files.\n'), call, iteration(1, 30), text('Done.'), iteration(2, 12)),
    ]);
    const { conn, pool: make, ended } = scene;
    const pool = make({}, undefined, { gateway_url: server.url });
    await queueRun(conn, { run_id: 'job_1', prompt: 'Analyze', workspace_dir: folder, max_iterations: 5 });
    await pool.start();
    await ended('job_1');
    const run = await getRun(conn, 'job_1');
    assert.deepEqual(run?.result, {
      session_id: 'job_1',
      response_text: 'Reading files.\nDone.',
      iterations: 2,
      tool_calls: 1,
      tokens: 42,
      trace_id: 'trace-1',
      metadata: {},
    });
    const [asked] = server.asked;
    assert.deepEqual([asked?.session, asked?.data.user_input, asked?.data.max_iterations], ['job_1', 'Analyze', 5]);
    assert.deepEqual(
      [asked?.data.metadata['idempotency_key'], asked?.data.metadata['run_id'], asked?.data.metadata['attempt']],
      ['run:job_1', 'job_1', 1],
    );
    assert.equal(server.sessions.get('job_1')?.['workspace_dir'], folder);
    const lines = await logOf(conn, 'job_1');
    assert.ok(lines.includes('Reading files.') && lines.includes('Done.'), lines.join('\n'));
    assert.ok(lines.some((line) => line.startsWith('→ search')));
  },
);

onBothStores(
  folder,
  'the next attempt goes on in the session, from the checkpoint, with what is left of its iterations',
  async (t, { conn, pool: make, ended }) => {
    const server = await gatewayServer(t, [
      sayThen(breakOff, text('One. '), call, iteration(1, 10), iteration(2, 10)),
      saying(text('Two.'), iteration(1, 5)),
    ]);
    const pool = make({}, undefined, { gateway_url: server.url, retry_failures: true });
    await queueRun(conn, { run_id: 'job_1', prompt: 'Analyze', max_iterations: 5 });
    await pool.start();
    await ended('job_1');
    const { status, result } = (await getRun(conn, 'job_1')) ?? assert.fail();
    const { iterations, tool_calls, tokens } = result as Readonly<Record<string, unknown>>;
    assert.deepEqual([status, iterations, tool_calls, tokens], ['completed', 3, 1, 25]);
    assert.equal(server.sessions.size, 1);
    const [first, second] = server.asked.map(({ data }) => data);
    assert.deepEqual([first?.max_iterations, second?.max_iterations], [5, 3]);
    assert.deepEqual(second?.metadata['resume'], { session_id: 'job_1', iteration: 2, tool_calls: 1, tokens: 20 });
    assert.equal(second?.metadata['idempotency_key'], first?.metadata['idempotency_key']);
  },
);

onBothStores(
  folder,
  'a run that uses more iterations than it may has failed as max_iterations',
  async (t, { conn, pool: make, ended }) => {
    const server = await gatewayServer(t, [
      (socket) => {
        for (const n of [1, 2, 3, 4]) socket.send(JSON.stringify(iteration(n, 1)));
      },
    ]);
    const pool = make({}, undefined, { gateway_url: server.url });
    await queueRun(conn, { run_id: 'job_1', prompt: 'x', max_iterations: 2 });
    await pool.start();
    await ended('job_1');
    assert.equal((await listRunAttempts(conn, 'job_1'))[0]?.failure_class, 'max_iterations');
    while (server.open() > 0) await new Promise((resolve) => setImmediate(resolve));
  },
);

onBothStores(
  folder,
  'a gateway that cannot be reached fails its run, and the worker goes back to its queue',
  async (t, { conn, pool: make, ended }) => {
    const server = await gatewayServer(t, [closing, saying(text('Done.'))]);
    const nowhere = make({ queue: 'nowhere' }, undefined, { gateway_url: 'http://127.0.0.1:9' });
    const other = await conn.connect({ queue: 'nowhere' });
    t.after(() => other.close());
    await queueRun(other, { run_id: 'job_0', prompt: 'x' });
    await nowhere.start();
    await waitForRun(other, 'job_0');
    assert.equal((await listRunAttempts(other, 'job_0'))[0]?.failure_class, 'gateway_error');
    const pool = make({}, undefined, { gateway_url: server.url });
    for (const run_id of ['job_1', 'job_2']) await queueRun(conn, { run_id, prompt: 'x' });
    await pool.start();
    await ended('job_1', 'job_2');
    const statuses = [(await getRun(conn, 'job_1'))?.status, (await getRun(conn, 'job_2'))?.status];
    assert.deepEqual(statuses, ['failed', 'completed']);
  },
);

onBothStores(folder, 'a cancel ends the request at the gateway', async (t, { conn, pool: make, ended }) => {
  const asked = Promise.withResolvers<void>();
  const server = await gatewayServer(t, [
    (socket) => {
      socket.send(JSON.stringify(text('On and on')));
      asked.resolve();
    },
  ]);
  const pool = make({}, undefined, { gateway_url: server.url });
  await queueRun(conn, { run_id: 'job_1', prompt: 'x' });
  await pool.start();
  await asked.promise;
  await requestCancel(conn, 'job_1');
  await ended('job_1');
  assert.equal((await getRun(conn, 'job_1'))?.status, 'cancelled');
  while (server.open() > 0) await new Promise((resolve) => setImmediate(resolve));
});

onBothStores(folder, 'an agent within the process is asked in the same way', async (_, { conn, pool: make, ended }) => {
  const keys: string[] = [];
  const pool = make(
    {},
    undefined,
    {},
    {
      agent: ({ user_input }, { session, key }) => {
        keys.push(key);
        return `${user_input} in ${session.session_id}`;
      },
    },
  );
  await queueRun(conn, { run_id: 'job_1', prompt: 'Go' });
  await pool.start();
  await ended('job_1');
  const { result } = (await getRun(conn, 'job_1')) ?? assert.fail();
  assert.equal((result as { response_text: string }).response_text, 'Go in job_1');
  assert.deepEqual(keys, ['run:job_1']);
});
