import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { open } from '../../../src/index.ts';
import { BIN } from '../../support/leasehold.ts';
import { counting, machine, machineWorker } from '../../support/runs/run-scene.ts';
import { place } from './cli-calls.ts';

const ASK = machine({
  name: 'asking',
  context: { count: 5 },
  states: {
    up: { action: 'up', transitions: [{ to: 'ask' }] },
    ask: {
      wait_for: 'approval/{{ input.n }}',
      output_to_context: { by: '{{ output.by }}' },
      transitions: [{ to: 'end' }],
    },
    end: { type: 'final', output: { by: '{{ context.by }}', count: '{{ context.count }}' } },
  },
});

/** A folder with a store, on which a worker of this process runs machines. */
async function scene(t: TestContext) {
  const { cwd, call, url } = place(t);
  mkdirSync(join(cwd, '.leasehold'), { recursive: true });
  const app = await open(url as `sqlite:${string}`);
  t.after(() => app.close({ drainMs: 0 }));
  await machineWorker(t, app, counting);
  const waits = async (id: string): Promise<void> => {
    while ((await app.runs.get(id))?.state !== 'waiting') await new Promise((go) => setTimeout(go, 10));
  };
  return { cwd, call, url, app, waits };
}

test('a run is listed, shown, followed and answered by what its page says to type', async (t) => {
  const { cwd, call, url, app, waits } = await scene(t);
  const { id } = await app.runs.start({ machine: ASK, input: { n: 42 }, name: 'nightly/7', labels: { team: 'a' } });
  await waits(id);
  const [row = ''] = (await call(['runs', 'list', '--name', 'nightly/'])).lines;
  const [listed, state, kind, what, , , name] = row.split('\t');
  assert.deepEqual([listed, state, kind, what, name], [id, 'waiting', 'machine', 'asking', 'nightly/7']);
  const page = (await call(['runs', 'show', 'nightly/7'])).stdout;
  assert.match(page, /waits for signal approval\/42 since/);
  assert.match(page, /● up +action {2}→ ask\n +▶ ask +wait {2}→ end\n +□ end/);
  assert.match(page, /up +▇+ +\d+ms|up +▇/);
  assert.match(page, /Next: leasehold signal approval\/42 JSON/);
  const [shown] = (await call(['runs', 'show', id, '--json'])).objects();
  assert.deepEqual([shown?.['current'], shown?.['steps'] instanceof Array && shown['steps'].length], ['ask', 2]);

  const tail = spawn(process.execPath, [BIN, 'runs', 'tail', 'nightly/7', '--store', url], { cwd });
  const told = text(tail.stdout);
  const ended = new Promise((resolve) => tail.once('close', resolve));
  await new Promise<void>((resolve) => tail.stdout.once('data', () => resolve()));
  const signal = await call(['signal', 'approval/42', '{"by":"ann"}']);
  assert.deepEqual([signal.code, signal.lines], [0, [`${id} goes on`]]);
  assert.equal(await ended, 0);
  assert.match(
    await told,
    /waits for signal approval\/42[^]*leasehold signal approval\/42 JSON[^]*ask[^]*has completed\n.*"by":"ann"/,
  );
});

test('a run is cancelled with a reason, goes on, and is forked with another context', async (t) => {
  const { call, app, waits } = await scene(t);
  const { id } = await app.runs.start({ machine: ASK, input: { n: 1 }, name: 'r' });
  await waits(id);
  const cancelled = await call(['runs', 'cancel', 'r', '--reason', 'wrong data', '--by', 'ada']);
  assert.deepEqual([cancelled.code, cancelled.lines], [0, ['r cancelled']]);
  assert.match(
    (await call(['runs', 'show', 'r'])).stdout,
    /was cancelled by ada: wrong data[^]*Next: leasehold runs retry/,
  );
  assert.deepEqual((await call(['runs', 'retry', 'r'])).lines, ['r goes on']);
  await waits(id);
  const again = await call(['runs', 'retry', 'r']);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /is waiting, and only one that failed or was cancelled/);
  const [fork] = (await call(['runs', 'fork', 'r', '--set', '{"count":70}', '--name', 's', '--json'])).objects();
  assert.deepEqual([fork?.['forkedFrom'], fork?.['name']], [id, 's']);
  await waits('s');
  await call(['signal', 'approval/1', '{"by":"x"}']);
  await call(['signal', 'approval/1', '{"by":"y"}']);
  assert.deepEqual(await app.handle(String(fork?.['id'])).result(), { by: 'y', count: 70 });
  const wrong = await call(['runs', 'fork', 'r', '--step', 'nowhere']);
  assert.equal(wrong.code, 3);
  assert.match(wrong.stderr, /no step "nowhere"/);
  assert.equal((await call(['runs', 'show', 'nothing'])).code, 3);
});

test('whoever waits for a run that was cancelled is told by whom and why', async (t) => {
  const { cwd, call, url, waits } = await scene(t);
  const states = { ask: { wait_for: 'never', transitions: [{ to: 'end' }] }, end: { type: 'final' } };
  writeFileSync(join(cwd, 'ask.json'), JSON.stringify(machine({ name: 'asking', states })));
  const words = ['run', 'ask.json', '--execution-id', 'r', '--store', url];
  const waiting = spawn(process.execPath, [BIN, ...words], { cwd });
  const told = text(waiting.stderr);
  const ended = new Promise((resolve) => waiting.once('close', resolve));
  await waits('r');
  await call(['runs', 'cancel', 'r', '--reason', 'wrong data', '--by', 'ada']);
  assert.equal(await ended, 1);
  assert.match(await told, /The task task_\S+ failed: it was cancelled by ada: wrong data\./);
});

test('a run waits for its budget, its page says what to type, and that lets it go on', async (t) => {
  const { call, app, waits } = await scene(t);
  const asking = machine({
    agents: { writer: { type: 'command', config: { command: 'true' } } },
    states: {
      ask: { agent: 'writer', input: { prompt: 'go' }, draw: { calls: 1 }, transitions: [{ to: 'end' }] },
      end: { type: 'final' },
    },
  });
  const { id } = await app.runs.start({ machine: asking, name: 'dear', budgets: [{ unit: 'calls', hard: 0 }] });
  await waits('dear');
  const shown = await call(['runs', 'show', 'dear']);
  assert.match(shown.stdout, new RegExp(`leasehold runs budget ${id} calls=AMOUNT`));
  const none = await call(['runs', 'budget', 'dear']);
  assert.match(none.stdout, /^calls {3}0 used of 0; a task waits for more/m);
  const wrong = await call(['runs', 'budget', 'dear', 'gold=1']);
  assert.deepEqual([wrong.code, /tokens, money, ms, calls/.test(wrong.stderr)], [2, true]);
  const raised = await call(['runs', 'budget', 'dear', 'calls=5', '--json']);
  assert.equal((JSON.parse(raised.stdout) as { budgets: { hard: number }[] }).budgets[0]?.hard, 5);
  await app.handle(id).result();
  const after = await call(['runs', 'budget', 'dear']);
  assert.match(after.stdout, /^calls {3}1 used of 5$/m);
});
