import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { counting, machine, runScene } from '../../../test/support/runs/run-scene.ts';
import { connectRuntimeDb, queueRun } from '../../compat/index.ts';
import { isEngineError } from '../../core/errors.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import { bundleMachine } from '../../worker/machine/durable/bundle.ts';
import { open } from '../open.ts';

const LOOP = machine({
  name: 'looping',
  context: { count: 0 },
  states: {
    up: { action: 'up', transitions: [{ to: 'end', condition: 'context.count >= 2' }, { to: 'up' }] },
    end: { type: 'final', output: { count: '{{ context.count }}' } },
  },
});

test('a program starts a machine, looks at it, forks it and finds it by its name', async (t) => {
  const { app } = await runScene(t, counting);
  const run = await app.runs.start({ machine: LOOP, name: 'one', input: { a: 1 } });
  assert.deepEqual(await app.handle(run.id).result(), { count: 2 });
  const detail = await app.runs.get('one');
  assert.deepEqual([detail?.id, detail?.input, detail?.title], [run.id, { a: 1 }, 'looping']);
  assert.equal(await app.runs.get('two'), undefined);
  assert.deepEqual(
    (await app.runs.list()).runs.map(({ name }) => name),
    ['one'],
  );
  const { steps } = await app.runs.steps('one');
  const [first] = steps.filter(({ kind }) => kind === 'step');
  assert.deepEqual((await app.runs.step('one', first?.key ?? '')).out, { count: 1 });
  const fork = await app.runs.fork('one', { step: first?.key, context: { count: 40 } });
  assert.deepEqual(await app.handle(fork.id).result(), { count: 41 });
  const again = await app.runs.start({ machine: LOOP, name: 'one', input: { a: 1 } });
  assert.deepEqual([again.id, again.fresh], [run.id, false]);
});

test('a fork asks for the same workers as the run that it was made of', async (t) => {
  const { app } = await runScene(t, counting);
  const { hash, text } = await bundleMachine({ value: LOOP, folder: '/', name: 'test' });
  const { run } = await app.engine.runs.start({
    request: {
      queue: 'machines',
      handler: 'machine',
      input: { definition: hash, requires: ['hooks=x.ts'] },
      placement: { requires: ['hooks=x.ts'] },
    },
    run: { kind: 'machine', title: 'looping' },
    definition: { hash, kind: 'machine', body: text },
  });
  const fork = await app.runs.fork(run.id, { step: 'start' });
  const { state, workers } = await app.explain(fork.id);
  assert.equal(state, 'ready');
  assert.match(JSON.stringify(workers), /hooks=x\.ts/);
});

test('a machine of a file brings the files that it names', async (t) => {
  const { app } = await runScene(t, counting);
  const folder = tempFolder('runs');
  writeFileSync(join(folder, 'child.json'), JSON.stringify(LOOP));
  const parent = machine({
    machines: { child: './child.json' },
    states: {
      below: { machine: 'child', output_to_context: { got: '{{ output.count }}' }, transitions: [{ to: 'end' }] },
      end: { type: 'final', output: { got: '{{ context.got }}' } },
    },
  });
  writeFileSync(join(folder, 'parent.json'), JSON.stringify(parent));
  const run = await app.runs.start({ machine: join(folder, 'parent.json') });
  assert.deepEqual(await app.handle(run.id).result(), { got: 2 });
  const { steps } = await app.runs.steps(run.id);
  const child = await app.runs.get(steps.find(({ kind }) => kind === 'child')?.child ?? '');
  assert.deepEqual(
    child?.states?.map(({ name, visits }) => [name, visits]),
    [
      ['up', 2],
      ['end', 1],
    ],
  );
});

test('unknown options and machines of nowhere are refused', async (t) => {
  const { app } = await runScene(t);
  const code = (wanted: string) => (error: unknown) => isEngineError(error) && error.code === wanted;
  await assert.rejects(app.runs.start({ machine: LOOP, nmae: 'x' } as never), code('UNKNOWN_OPTION'));
  await assert.rejects(app.runs.start({ machine: './nowhere.yml' }), code('NOT_FOUND'));
  await assert.rejects(app.runs.start({ machine: 5 } as never), code('INVALID_INPUT'));
  await assert.rejects(app.runs.start({}), code('INVALID_INPUT'));
});

test('a run that was queued through Universal Agent is found by its name, cancelled with a reason, and goes on', async () => {
  const folder = tempFolder('queued');
  const file = join(folder, 'runtime.db');
  const conn = await connectRuntimeDb(file);
  await queueRun(conn, { runId: 'job/1', prompt: 'x' });
  const app = await open(`sqlite:${file}`, { housekeeping: false });
  assert.equal((await app.runs.list({ name: 'job/' })).runs[0]?.name, 'job/1');
  const cancelled = await app.runs.cancel('job/1', { reason: 'not now', by: 'ann' });
  assert.deepEqual([cancelled.state, cancelled.cancelReason], ['cancelled', 'not now']);
  assert.equal((await app.runs.retry('job/1')).state, 'ready');
  await assert.rejects(app.runs.fork('job/1'), (error) => isEngineError(error, 'CONFLICT'));
  await app.close();
  await conn.close();
});
